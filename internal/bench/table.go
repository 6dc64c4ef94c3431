package main

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// figure is one line of the table.
type figure struct {
	What    string  `json:"what"`
	Assets  int     `json:"assets,omitempty"`
	Shown   string  `json:"median"`            // the median, or both of a ratio, for people
	Seconds float64 `json:"seconds,omitempty"` // the median time
	Bytes   int64   `json:"peak_bytes,omitempty"`
	Against string  `json:"against,omitempty"`
	Base    float64 `json:"against_seconds,omitempty"`
	Ratio   float64 `json:"ratio,omitempty"`
	Must    string  `json:"must,omitempty"`
	Aim     string  `json:"aim,omitempty"`
	Verdict string  `json:"verdict,omitempty"` // of must; "" without one
	Hit     float64 `json:"hit_at_1,omitempty"`
	Recall  float64 `json:"recall_at_10,omitempty"`
	NDCG    float64 `json:"ndcg_at_10,omitempty"`
}

// limit is what design.md §6 asks of a figure; 0 stands for nothing.
type limit struct {
	must, aim float64
	below     bool // must is not enough itself
}

func (l limit) verdict(value float64) string {
	if l.must == 0 {
		return ""
	}
	return verdictOf(value < l.must || value == l.must && !l.below)
}

func verdictOf(met bool) string {
	if met {
		return "met"
	}
	return "MISSED"
}

// say fills in the limits of a figure, in the unit that show prints.
func (l limit) say(f *figure, show func(float64) string) {
	sign := "≤ "
	if l.below {
		sign = "< "
	}
	if l.must > 0 {
		f.Must = sign + show(l.must)
	}
	if l.aim > 0 {
		f.Aim = "≤ " + show(l.aim)
	}
}

func wall(u usage) time.Duration { return u.wall }
func cpu(u usage) time.Duration  { return u.cpu }

// ratio adds a figure of one process against another.
func (s *suite) ratio(what, against string, assets int, of func(usage) time.Duration, r, base result, l limit) {
	value, other := of(r.usage).Seconds(), of(base.usage).Seconds()
	f := figure{What: what, Assets: assets, Seconds: value, Bytes: r.peak, Against: fmt.Sprintf("%s: %s", against, seconds(other)),
		Base: other, Ratio: value / other, Shown: seconds(value), Verdict: l.verdict(value / other)}
	l.say(&f, func(v float64) string { return fmt.Sprintf("%g ×", v) })
	s.rows = append(s.rows, f)
}

// time adds a figure that has a limit by itself.
func (s *suite) time(what string, assets int, of func(usage) time.Duration, r result, l limit) {
	value := of(r.usage).Seconds()
	f := figure{What: what, Assets: assets, Seconds: value, Bytes: r.peak, Shown: seconds(value), Verdict: l.verdict(value)}
	l.say(&f, func(v float64) string { return fmt.Sprintf("%g s", v) })
	s.rows = append(s.rows, f)
}

// memory adds the peak memory of a process as a figure of its own.
func (s *suite) memory(what string, assets int, r result, l limit) {
	f := figure{What: what, Assets: assets, Bytes: r.peak, Shown: mebibytes(float64(r.peak)), Verdict: l.verdict(float64(r.peak))}
	if r.peak == 0 {
		f.Shown, f.Verdict = "not known here", ""
	}
	l.say(&f, mebibytes)
	s.rows = append(s.rows, f)
}

func seconds(v float64) string {
	switch {
	case v < 0.1:
		return fmt.Sprintf("%.1f ms", 1000*v)
	case v < 1:
		return fmt.Sprintf("%.0f ms", 1000*v)
	}
	return fmt.Sprintf("%.2f s", v)
}

func mebibytes(v float64) string { return fmt.Sprintf("%.0f MiB", v/(1<<20)) }

// table is the figures in Markdown, its columns even for a terminal.
func table(rows []figure) string {
	cells := [][]string{{"what", "assets", "median", "against", "ratio", "must", "aim", "verdict", "peak"}, nil}
	for _, f := range rows {
		assets, ratio, peak := "", "", ""
		if f.Assets > 0 {
			assets = fmt.Sprint(f.Assets)
		}
		if f.Ratio > 0 {
			ratio = fmt.Sprintf("%.2f ×", f.Ratio)
		}
		if f.Bytes > 0 {
			peak = mebibytes(float64(f.Bytes))
		}
		cells = append(cells, []string{f.What, assets, f.Shown, f.Against, ratio, f.Must, f.Aim, f.Verdict, peak})
	}
	widths := make([]int, len(cells[0]))
	for _, row := range cells {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell), 3)
		}
	}
	var b strings.Builder
	for _, row := range cells {
		for i, width := range widths {
			fill, cell := "-", "" // the line below the head has no cells
			if row != nil {
				fill, cell = " ", row[i]
			}
			b.WriteString("| " + cell + strings.Repeat(fill, width-utf8.RuneCountInString(cell)) + " ")
		}
		b.WriteString("|\n")
	}
	return b.String()
}
