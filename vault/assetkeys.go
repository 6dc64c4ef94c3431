package vault

import (
	"fmt"
	"slices"

	"gopkg.in/yaml.v3"
)

func (p *assetParser) readSource(d *document, n *yaml.Node, field string) {
	out := map[string]any{}
	d.keys(n, field, map[string]keyReader{
		"type": func(n *yaml.Node, f string) {
			if p.asset.Source.Type = oneOf(d, n, f, SourceTypes); p.asset.Source.Type != "manual" {
				out["type"] = p.asset.Source.Type
			}
		},
		"ref": func(n *yaml.Node, f string) { p.asset.Source.Ref, _ = d.text(n, f); out["ref"] = p.asset.Source.Ref },
	})
	if len(out) > 0 {
		p.asset.keys[field] = out
	}
}

func (p *assetParser) readContentRef(d *document, n *yaml.Node, field string) {
	value, ok := d.text(n, field)
	if !ok {
		return
	}
	p.asset.ContentRef, p.asset.keys[field] = value, value
	if !isURI(value) {
		p.inFolder(d, n, field, value)
	}
}

// inFolder checks a path that an asset names.
func (p *assetParser) inFolder(d *document, n *yaml.Node, field, value string) {
	if err := CheckPath(value); err != nil {
		d.at(follow(n), Error, field, "name a file inside the asset's folder, or a URI", "%s", err)
		return
	}
	if p.asset.Layout == LayoutMarkdown || p.asset.Layout == LayoutYAML {
		d.at(follow(n), Error, field, "make the asset a folder with asset.yaml, or use a URI", "%q is a path, and an asset of one file has no folder", value)
		return
	}
	if !slices.ContainsFunc(p.asset.files, func(f File) bool { return f.Path == value }) {
		d.at(follow(n), Error, field, "add the file, or correct the path", "there is no file %s in %s", value, p.at)
	}
}

func (p *assetParser) keepList(field string, values []string) {
	if len(values) > 0 {
		p.asset.keys[field] = values
	}
}

func (p *assetParser) keepShare(d *document, n *yaml.Node, field string, constant float64) Ratio {
	value, ratio := d.share(n, field)
	if value != constant {
		p.asset.keys[field] = value
	}
	return ratio
}

func (p *assetParser) readMetadata(d *document, n *yaml.Node, field string) {
	if follow(n).Kind != yaml.MappingNode {
		d.notA(n, field, "a map of keys", "write `key: value` lines")
		return
	}
	p.asset.Metadata = d.free(n, field).(map[string]any)
	if len(p.asset.Metadata) > 0 {
		p.asset.keys[field] = p.asset.Metadata
	}
}

// subjectKinds are the kinds that an access rule may name.
var subjectKinds = []string{KindUser, KindTeam, KindRole, KindAgent, KindTask, KindFramework}

func (p *assetParser) readACL(d *document, n *yaml.Node, field string) {
	var rules []any
	for i, item := range d.items(n, field) {
		var rule Rule
		name := fmt.Sprintf("%s[%d]", field, i)
		there := d.keys(item, name, map[string]keyReader{
			"effect":  func(n *yaml.Node, f string) { rule.Effect = oneOf(d, n, f, []Effect{Allow, Deny}) },
			"subject": func(n *yaml.Node, f string) { rule.Subject = d.subject(n, f, "", true, subjectKinds...) },
			"permissions": func(n *yaml.Node, f string) {
				for j, item := range d.items(n, f) {
					rule.Permissions = append(rule.Permissions, oneOf(d, item, fmt.Sprintf("%s[%d]", f, j), Permissions))
				}
				if len(rule.Permissions) == 0 {
					d.at(follow(n), Error, f, "list some of "+list(Permissions), "a rule without permissions says nothing")
				}
			},
		})
		for _, key := range []string{"effect", "subject", "permissions"} {
			if there != nil && there[key] == nil {
				d.at(follow(item), Error, join(name, key), "write {effect: allow, subject: user:<id>, permissions: [read, use]}", "this key is required")
			}
		}
		p.asset.ACL = append(p.asset.ACL, rule)
		permissions := make([]string, len(rule.Permissions))
		for j, permission := range rule.Permissions {
			permissions[j] = string(permission)
		}
		rules = append(rules, map[string]any{"effect": string(rule.Effect), "subject": string(rule.Subject), "permissions": permissions})
	}
	if len(rules) > 0 {
		p.asset.keys[field] = rules
	}
}

func (p *assetParser) readBindings(d *document, n *yaml.Node, field string) {
	var bindings []any
	for i, item := range d.items(n, field) {
		b := Binding{Mode: ModeReference, Priority: p.asset.Priority, Enabled: true}
		out := map[string]any{}
		name := fmt.Sprintf("%s[%d]", field, i)
		p.place(d, name, item)
		there := d.keys(item, name, map[string]keyReader{
			"target": func(n *yaml.Node, f string) {
				b.Target = d.subject(n, f, "", false, KindAgent, KindTask, KindFramework)
				out["target"] = string(b.Target)
			},
			"mode": func(n *yaml.Node, f string) {
				if b.Mode = oneOf(d, n, f, Modes); b.Mode != ModeReference {
					out["mode"] = string(b.Mode)
				}
			},
			"priority": func(n *yaml.Node, f string) { out["priority"], b.Priority = d.share(n, f) },
			"required": func(n *yaml.Node, f string) {
				if b.Required = d.boolean(n, f); b.Required {
					out["required"] = true
				}
			},
			"enabled": func(n *yaml.Node, f string) {
				if b.Enabled = d.boolean(n, f); !b.Enabled {
					out["enabled"] = false
				}
			},
		})
		if there != nil && there["target"] == nil {
			d.at(follow(item), Error, join(name, "target"), "add target: agent:<id>, task:<id> or framework:<id>", "this key is required")
		}
		if slices.ContainsFunc(p.asset.Bindings, func(other Binding) bool { return other.Target == b.Target && b.Target != "" }) {
			d.at(follow(item), Error, join(name, "target"), "keep one of the two", "%s is bound twice", b.Target)
		}
		p.asset.Bindings = append(p.asset.Bindings, b)
		bindings = append(bindings, out)
	}
	if len(bindings) > 0 {
		p.asset.keys[field] = bindings
	}
}
