package index

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"longmemory.dev/lm/vault"
)

// entry is a line of the corpus or of its queries.
type entry struct{ ID, Text string }

// dataFolder finds a folder of the data to measure on: under LM_DATA, or
// beside the module.
func dataFolder(t testing.TB, name string) string {
	t.Helper()
	root := os.Getenv("LM_DATA")
	if root == "" {
		root = filepath.Join("..", "..", "shared", "data")
	}
	dir := filepath.Join(root, name)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("%s is not here; set LM_DATA to the folder that holds it", name)
	}
	return dir
}

func readEntries(t testing.TB, path string) (all []entry) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var in io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if in, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	for lines := json.NewDecoder(in); ; {
		var e entry
		if err := lines.Decode(&e); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
}

// readGrades reads how well which documents answer which query.
func readGrades(t testing.TB, path string) map[string]map[vault.ID]int {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	grades := make(map[string]map[vault.ID]int)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var query string
		var document vault.ID
		var grade int
		if n, _ := fmt.Sscan(lines.Text(), &query, &document, &grade); n < 3 {
			continue // the heading
		}
		if grades[query] == nil {
			grades[query] = make(map[vault.ID]int)
		}
		grades[query][document] = grade
	}
	return grades
}

// skillText takes a SKILL.md apart, however faulty its front matter.
func skillText(file string) Text {
	file = strings.ReplaceAll(file, "\r\n", "\n")
	rest, fenced := strings.CutPrefix(file, "---\n")
	head, body, closed := strings.Cut(rest, "\n---")
	if !fenced || !closed {
		return Text{Body: file}
	}
	_, body, _ = strings.Cut(body, "\n")
	lines := strings.Split(head, "\n")
	value := func(key string) string {
		for i, line := range lines {
			value, ok := strings.CutPrefix(line, key+":")
			if !ok {
				continue
			}
			value = strings.TrimSpace(value)
			if strings.HasPrefix(value, "|") || strings.HasPrefix(value, ">") {
				value = ""
			}
			for _, more := range lines[i+1:] {
				if more != "" && more[0] != ' ' && more[0] != '\t' {
					break
				}
				value += " " + strings.TrimSpace(more)
			}
			return strings.Trim(strings.TrimSpace(value), `"'`)
		}
		return ""
	}
	return Text{Name: value("name"), Description: value("description"), Body: body}
}

// measures are hit@1, recall@10 and nDCG@10 with linear gains.
type measures struct{ hit, recall, ndcg float64 }

func measure(order []vault.ID, grades map[vault.ID]int) (m measures) {
	discounted := func(grade, place int) float64 { return float64(grade) / math.Log2(float64(place+2)) }
	var gain, ideal float64
	for place, id := range order[:10] {
		if grade := grades[id]; grade > 0 {
			m.recall += 1 / float64(len(grades))
			gain += discounted(grade, place)
			if place == 0 {
				m.hit = 1
			}
		}
	}
	var all []int
	for _, grade := range grades {
		all = append(all, grade)
	}
	slices.SortFunc(all, func(a, b int) int { return cmp.Compare(b, a) })
	for place, grade := range all[:min(len(all), 10)] {
		ideal += discounted(grade, place)
	}
	m.ndcg = gain / ideal
	return m
}

// corpus is an index of published skills, with queries and which skills help.
func corpus(t testing.TB) (*Index, []entry, map[string]map[vault.ID]int) {
	dir := dataFolder(t, "skill-bench")
	var c Contents
	for _, e := range readEntries(t, filepath.Join(dir, "corpus.jsonl.gz")) {
		d := asset(vault.ID(e.ID), "", "")
		d.Text, d.Forms = skillText(e.Text), [4]Form{}
		c.Documents = append(c.Documents, d)
	}
	return mustMemory(t, c), readEntries(t, filepath.Join(dir, "queries.jsonl")), readGrades(t, filepath.Join(dir, "qrels.tsv"))
}

// Relevance must be better than that of plain BM25 over whole files, whose
// measures on this corpus are published with it.
func TestRelevanceOnSkills(t *testing.T) {
	if testing.Short() {
		t.Skip("5,000 skills take seconds")
	}
	baseline := measures{hit: 0.644, recall: 0.748, ndcg: 0.674}
	x, queries, grades := corpus(t)
	var sum measures
	for _, query := range queries {
		r, err := x.Search(query.Text)
		if err != nil {
			t.Fatal(err)
		}
		places := make([]int, len(x.Facts()))
		for i := range places {
			places[i] = i
		}
		slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(r.Relevance(b), r.Relevance(a)) })
		order := make([]vault.ID, 10)
		for i := range order {
			order[i] = x.Facts()[places[i]].ID
		}
		m := measure(order, grades[query.ID])
		sum.hit += m.hit
		sum.recall += m.recall
		sum.ndcg += m.ndcg
	}
	n := float64(len(queries))
	got := measures{sum.hit / n, sum.recall / n, sum.ndcg / n}
	t.Logf("hit@1 %.3f, recall@10 %.3f, nDCG@10 %.3f", got.hit, got.recall, got.ndcg)
	if got.hit <= baseline.hit || got.recall <= baseline.recall || got.ndcg <= baseline.ndcg {
		t.Errorf("%+v is not better than %+v everywhere", got, baseline)
	}
}
