package vault

import (
	"path"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// skillKeys are the front matter keys of the Agent Skills rules.
var skillKeys = map[string]bool{"name": true, "description": true, "license": true, "compatibility": true, "metadata": true, "allowed-tools": true}

// readSkill reads SKILL.md leniently (format.md §6): only a front matter that
// cannot be read and a missing description are errors. It returns the body.
func (p *assetParser) readSkill(file *File) string {
	d, body := frontMatter(file.Path, file.Data, p.found)
	if d.root == nil {
		return ""
	}
	folder := path.Base(p.at)
	p.asset.Name = folder
	described := false
	for i := 0; i < len(d.root.Content); i += 2 {
		key, value := d.root.Content[i], follow(d.root.Content[i+1])
		switch {
		case key.Value == "name" && value.Kind == yaml.ScalarNode && !isNull(value):
			p.asset.Name = strings.TrimSpace(value.Value)
			if p.asset.Name != folder {
				d.at(value, Warning, "name", "name the folder and the skill alike", "the skill is named %q and its folder %q", p.asset.Name, folder)
			}
			if utf8.RuneCountInString(p.asset.Name) > 200 {
				d.at(value, Warning, "name", "cut it", "the name has more than 200 characters")
			}
		case key.Value == "description" && value.Kind == yaml.ScalarNode && strings.TrimSpace(value.Value) != "" && !isNull(value):
			described = true
			p.asset.Description = strings.TrimSpace(value.Value)
			if count := utf8.RuneCountInString(p.asset.Description); count > 1024 {
				d.at(value, Warning, "description", "cut it to 1024", "%d characters, 1024 are the most that every reader takes", count)
			}
		case !skillKeys[key.Value]:
			d.at(key, Warning, key.Value, "move it under metadata", "this key is not one of the Agent Skills rules")
		}
	}
	if !described {
		d.at(d.root, Error, "description", "say in one sentence what the skill does and when to use it", "the skill has no description")
	}
	return string(toLF(body))
}
