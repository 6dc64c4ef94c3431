package workspace

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"longmemory.dev/lm/vault"
)

// Change is what somebody wants of an asset's keys and body. A nil field
// leaves things as they are; Keys (a JSON merge patch) comes first, the other
// fields win over it.
type Change struct {
	Keys map[string]any
	Body []byte // nil: as it is

	Name, Description, Owner, SourceType, SourceRef, ContentRef *string
	Type, Status, Visibility, Mode, ExpiresAt                   *string
	Teams, Labels, Agents, Tasks, Frameworks                    *[]string
	Priority, Confidence                                        *float64
	Required                                                    *bool

	Reason        string
	ExpectVersion int // 0: whatever it is
	DryRun        bool
}

// patch is the change as a JSON merge patch over the keys that an asset has.
func (c *Change) patch(current map[string]any) (map[string]any, error) {
	out := maps.Clone(c.Keys)
	if out == nil {
		out = map[string]any{}
	}
	for key, value := range map[string]*string{
		"name": c.Name, "description": c.Description, "owner": c.Owner, "content_ref": c.ContentRef, "type": c.Type,
		"status": c.Status, "visibility": c.Visibility, "expires_at": c.ExpiresAt,
	} {
		if value != nil {
			out[key] = unset(*value)
		}
	}
	for key, value := range map[string]*[]string{"teams": c.Teams, "labels": c.Labels} {
		if value != nil {
			out[key] = anyList(*value)
		}
	}
	if teams, ok := out["teams"].([]any); ok && c.Teams != nil {
		for i, team := range teams {
			teams[i] = strings.TrimPrefix(team.(string), vault.KindTeam+":")
		}
	}
	if c.Confidence != nil {
		out["confidence"] = *c.Confidence
	}
	if c.SourceType != nil || c.SourceRef != nil {
		source := map[string]any{}
		if given, ok := out["source"].(map[string]any); ok {
			source = maps.Clone(given)
		}
		if c.SourceType != nil {
			source["type"] = unset(*c.SourceType)
		}
		if c.SourceRef != nil {
			source["ref"] = unset(*c.SourceRef)
		}
		out["source"] = source
	}
	return out, c.bind(out, current)
}

// unset makes an empty flag remove its key.
func unset(value string) any {
	if value == "" {
		return nil
	}
	return value
}

func anyList(values []string) any {
	out := []any{}
	for _, value := range values {
		if value = strings.TrimSpace(value); value != "" {
			out = append(out, value)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// bind applies the flags of bindings (design.md §4): each target flag replaces
// the bindings of its kind, and mode, priority and required go to those;
// without a target flag the priority is the asset's and the others change all
// bindings.
func (c *Change) bind(patch, current map[string]any) error {
	bindings, _ := current["bindings"].([]any)
	if given, ok := patch["bindings"]; ok {
		bindings, _ = given.([]any)
	}
	targets := []struct {
		kind   string
		values *[]string
	}{{vault.KindAgent, c.Agents}, {vault.KindTask, c.Tasks}, {vault.KindFramework, c.Frameworks}}
	targeted := c.Agents != nil || c.Tasks != nil || c.Frameworks != nil
	if !targeted {
		if c.Priority != nil {
			patch["priority"] = *c.Priority
		}
		if c.Mode == nil && c.Required == nil {
			return nil
		}
		if len(bindings) == 0 {
			return fmt.Errorf("%w: --mode and --required are about bindings, and there are none; name --agents, --tasks or --frameworks", ErrUsage)
		}
		out := make([]any, len(bindings))
		for i, b := range bindings {
			out[i] = c.binding(b, nil)
		}
		patch["bindings"] = out
		return nil
	}
	var out []any
	for _, b := range bindings {
		kept := true
		for _, t := range targets {
			kept = kept && !(t.values != nil && strings.HasPrefix(targetOf(b), t.kind+":"))
		}
		if kept {
			out = append(out, b)
		}
	}
	for _, t := range targets {
		if t.values == nil {
			continue
		}
		for _, value := range *t.values {
			if value = strings.TrimPrefix(strings.TrimSpace(value), t.kind+":"); value != "" {
				out = append(out, c.binding(map[string]any{"target": t.kind + ":" + value}, c.Priority))
			}
		}
	}
	patch["bindings"] = nil
	if len(out) > 0 {
		patch["bindings"] = out
	}
	return nil
}

func targetOf(binding any) string {
	b, _ := binding.(map[string]any)
	target, _ := b["target"].(string)
	return target
}

// binding is a binding with the flags applied.
func (c *Change) binding(old any, priority *float64) any {
	b, ok := old.(map[string]any)
	if !ok {
		return old
	}
	b = maps.Clone(b)
	if c.Mode != nil {
		b["mode"] = *c.Mode
	}
	if c.Required != nil {
		b["required"] = *c.Required
	}
	if priority != nil {
		b["priority"] = *priority
	}
	return b
}

// idOf makes an id of a name (design.md §4): NFKD without its marks, lower
// case, other runs as "-", trimmed.
func idOf(name string) vault.ID {
	var b strings.Builder
	gap := false
	for _, r := range norm.NFKD.String(name) {
		r = unicode.ToLower(r)
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '_':
			if gap {
				b.WriteByte('-')
			}
			gap = false
			b.WriteRune(r)
		case !unicode.Is(unicode.Mn, r):
			gap = true
		}
	}
	id := strings.Trim(b.String(), "._-")
	if len(id) > 128 {
		id = strings.TrimRight(id[:128], "._-")
	}
	return vault.ID(id)
}

// changed lists the governed keys in which two versions of an asset differ,
// sorted; "body" stands for its content files.
func changed(before, after *vault.Asset) []string {
	var out []string
	old, fresh := before.Governed(), after.Governed()
	for key := range fresh {
		if vault.CanonicalDigest(old[key]) != vault.CanonicalDigest(fresh[key]) {
			out = append(out, key)
		}
	}
	for key := range old {
		if _, ok := fresh[key]; !ok {
			out = append(out, key)
		}
	}
	if before.ContentDigest() != after.ContentDigest() {
		out = append(out, "body")
	}
	slices.Sort(out)
	return slices.Compact(out)
}
