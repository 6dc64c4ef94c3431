package memoryfile_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"longmemory.dev/lm/vault/memoryfile"
)

// The same 80 random bits as in the specification's example of a ULID.
var example = [10]byte{0xd6, 0x76, 0x4c, 0x61, 0xef, 0xb9, 0x93, 0x02, 0xbd, 0x5b}

func TestIDsAreULIDs(t *testing.T) {
	full := [10]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	for _, c := range []struct {
		ms     int64
		random [10]byte
		want   string // as others write it
	}{
		{1469922850259, example, "01ARZ3NDEKTSV4RRFFQ69G5FAV"},
		{1469918176385, example, "01ARYZ6S41TSV4RRFFQ69G5FAV"},
		{1000000000, [10]byte{0xa5, 0xe5, 0x15, 0xbc, 0x97, 0xe8, 0x5c, 0xf6, 0x9b, 0xc3}, "0000XSNJG0MQJHBF4QX1EFD6Y3"},
		{0, [10]byte{}, "00000000000000000000000000"},
		{0, [10]byte{9: 1}, "00000000000000000000000001"},
		{1, [10]byte{}, "00000000010000000000000000"},
		{1<<48 - 1, full, "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"},
	} {
		for _, kind := range memoryfile.Kinds {
			if got, want := kind.NewID(time.UnixMilli(c.ms), c.random), kind.Prefix+strings.ToLower(c.want); got != want {
				t.Errorf("%d: %s, want %s", c.ms, got, want)
			} else if err := kind.Check(got); err != nil {
				t.Error(err)
			}
		}
	}
}

// decode reads a ULID independently of how it is written: 26 digits of 5 bits.
func decode(id string) (ms int64, random [10]byte) {
	var bits []byte
	for _, digit := range id {
		value := strings.IndexRune("0123456789abcdefghjkmnpqrstvwxyz", digit)
		for shift := 4; shift >= 0; shift-- {
			bits = append(bits, byte(value>>shift&1))
		}
	}
	bits = bits[2:]
	for _, b := range bits[:48] {
		ms = ms<<1 | int64(b)
	}
	for i, b := range bits[48:] {
		random[i/8] |= b << (7 - i%8)
	}
	return ms, random
}

func TestIDsKeepTheirTimeAndSortByIt(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		one := func(label string) (string, int64) {
			ms := rapid.Int64Range(0, 1<<48-1).Draw(rt, label)
			random := [10]byte(rapid.SliceOfN(rapid.Byte(), 10, 10).Draw(rt, label+" random"))
			at := time.UnixMilli(ms).Add(time.Duration(rapid.IntRange(0, 999999).Draw(rt, label+" nanoseconds"))).In(time.FixedZone("", 3600))
			id := memoryfile.Records.NewID(at, random)
			if gotMS, gotRandom := decode(strings.TrimPrefix(id, "mem_")); gotMS != ms || gotRandom != random {
				rt.Fatalf("%s of %d and %x says %d and %x", id, ms, random, gotMS, gotRandom)
			}
			if err := memoryfile.Records.Check(id); err != nil {
				rt.Fatal(err)
			}
			return id, ms
		}
		early, first := one("one")
		late, second := one("another")
		if first < second && early >= late || first > second && early <= late {
			rt.Fatalf("%s of %d and %s of %d sort otherwise", early, first, late, second)
		}
	})
	early := memoryfile.Records.NewID(time.UnixMilli(1469922850259), [10]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	if late := memoryfile.Records.NewID(time.UnixMilli(1469922850260), [10]byte{}); early >= late {
		t.Errorf("%s, a millisecond before %s, sorts after it", early, late)
	}
}

func TestIDsThatAreNone(t *testing.T) {
	good := memoryfile.Records.NewID(time.UnixMilli(1469922850259), example)
	for _, id := range []string{
		"", "mem_", "mem_../../../../etc/passwd", "mem_../../../../../../../../et", "mem_..%2f..%2f..%2f..%2f..%2f.", "mem_" + strings.Repeat(".", 26), "mem_" + strings.Repeat("/", 26), "mem_0" + strings.Repeat("\\", 25), "mem_0" + strings.Repeat("\x00", 25),
		good + "/..", good + "\n", "../" + good, " " + good, good + " ", strings.ToUpper(good), "MEM_" + good[4:], "mem_" + strings.ToUpper(good[4:]),
		"mem_8" + good[5:], "mem_z" + good[5:], "mem_" + strings.Repeat("i", 26), "mem_0" + strings.Repeat("u", 25), "mem_0" + strings.Repeat("l", 25), "mem_0" + strings.Repeat("o", 25),
		good[:29], good + "0", good[4:], "mem" + good[4:], "prop_" + good[4:], good + ".yaml", "mem_0" + strings.Repeat("é", 25), "mem_mem_" + good[4:], good[:10] + "/" + good[11:], good[:10] + "." + good[11:],
	} {
		err := memoryfile.Records.Check(id)
		if err == nil {
			t.Errorf("%q is taken", id)
		} else if !strings.Contains(err.Error(), "mem_") {
			t.Errorf("%q: %v does not say how an id looks", id, err)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		kind := rapid.SampledFrom(memoryfile.Kinds).Draw(rt, "kind")
		id := kind.Prefix + rapid.StringMatching(`[0-9a-zA-Z/._\\-]{25,27}`).Draw(rt, "id")
		if kind.Check(id) == nil && (len(id) != len(kind.Prefix)+26 || strings.ContainsAny(id, `/.\-`) || strings.ToLower(id) != id) {
			rt.Fatalf("%q is taken", id)
		}
	})
}

func TestPlaces(t *testing.T) {
	late := time.Date(2026, 7, 31, 23, 30, 0, 0, time.FixedZone("", -3600)) // August in UTC
	for _, c := range []struct {
		kind                                      memoryfile.Kind
		id, in, path, receipts, subjectOfReceipts string
	}{
		{memoryfile.Records, "mem_x", "memory/records", "memory/records/2026/08/mem_x.yaml", "receipts/memory", "memory/mem_x"},
		{memoryfile.Proposals, "prop_x", "memory/proposals", "memory/proposals/2026/08/prop_x.yaml", "receipts/proposal", "proposal/prop_x"},
		{memoryfile.Handoffs, "hand_x", "memory/handoffs", "memory/handoffs/2026/08/hand_x.yaml", "receipts/handoff", "handoff/hand_x"},
		{memoryfile.Feedbacks, "fb_x", "memory/feedback", "memory/feedback/2026/08/fb_x.yaml", "receipts/feedback", "feedback/fb_x"},
	} {
		if got := []string{c.kind.In(), c.kind.Path(c.id, late), c.kind.Receipts(), c.kind.SubjectOf(c.id)}; strings.Join(got, " ") != strings.Join([]string{c.in, c.path, c.receipts, c.subjectOfReceipts}, " ") {
			t.Errorf("%v", got)
		}
	}
}

func TestARecordHasTheULIDOfItsProposal(t *testing.T) {
	proposal := memoryfile.Proposals.NewID(time.UnixMilli(1469922850259), example)
	record := memoryfile.RecordOf(proposal)
	if record != "mem_01arz3ndektsv4rrffq69g5fav" || memoryfile.ProposalOf(record) != proposal {
		t.Errorf("%s becomes %s, which is of %s", proposal, record, memoryfile.ProposalOf(record))
	}
}
