package render

import (
	"fmt"
	"strings"
)

// Memory is what an agent reads of one memory.
type Memory struct {
	ID, Kind, Scope, State, Confidence string
	Subject, Predicate, Object         string
	Summary                            string
}

// Remembered is a memory as an item of a context: reference material like every
// asset that is no skill.
func Remembered(m Memory) string {
	said := strings.TrimSpace(strings.Join(strings.Fields(strings.Join([]string{m.Subject, m.Predicate, m.Object}, " ")), " "))
	lines := []string{}
	for _, text := range []string{said, strings.TrimSpace(m.Summary)} {
		if text != "" {
			lines = append(lines, text)
		}
	}
	state := ""
	if m.State == "conflicted" {
		state = ` state="conflicted"`
	}
	return fmt.Sprintf("<lm-reference id=%q type=\"memory\" kind=%q scope=%q confidence=%q%s>\n%s\n</lm-reference>\n", m.ID, Neutral(m.Kind), Neutral(m.Scope), m.Confidence, state, Neutral(strings.Join(lines, "\n")))
}
