package index

import (
	"fmt"
	"slices"
	"testing"
)

// benchmarked is how many assets the benchmarks have, of 2.5 kB each.
const benchmarked = 10000

func BenchmarkBuild(b *testing.B) {
	c := many(benchmarked, 1)
	b.ReportAllocs()
	for b.Loop() {
		mustBuild(b, b.TempDir(), key(1), c)
	}
}

func BenchmarkDeriveOne(b *testing.B) {
	root := b.TempDir()
	c := many(benchmarked, 1)
	mustBuild(b, root, key(0), c)
	base := mustOpen(b, root, key(0))
	c.Documents = slices.Clone(c.Documents)
	for i := range c.Documents {
		c.Documents[i] = Document{Facts: c.Documents[i].Facts, Base: i + 1}
	}
	c.Documents[17] = many(18, 2).Documents[17]
	n := 0
	for b.Loop() {
		n++
		if err := derive(ctx, root, key(n), base, c, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	root := b.TempDir()
	mustBuild(b, root, key(1), many(benchmarked, 1))
	b.ReportAllocs()
	for b.Loop() {
		x, status, err := Open(root, key(1))
		if status != Current {
			b.Fatal(status, err)
		}
		x.Close()
	}
}

func BenchmarkDecodeCatalog(b *testing.B) {
	x := mustMemory(b, many(benchmarked, 1))
	x.files = 1
	data := encoded(&x.catalog)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := decodeCatalog(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSearch(b *testing.B) {
	x := mustMemory(b, many(benchmarked, 1))
	long := ""
	for _, d := range many(20, 2).Documents {
		long += d.Text.Body
	}
	for _, query := range []string{many(1, 3).Documents[0].Text.Description[:60], long} {
		b.Run(fmt.Sprint(len(query)), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := x.Search(query); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSearchSkills(b *testing.B) {
	x, queries, _ := corpus(b)
	for b.Loop() {
		for _, query := range queries {
			if _, err := x.Search(query.Text); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(queries)), "µs/query")
}
