package agentprotocol_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"longmemory.dev/lm/agentprotocol"
	"pgregory.net/rapid"
)

type caps = []agentprotocol.Capability

func TestNegotiate(t *testing.T) {
	for _, c := range []struct {
		name      string
		supported []string
		has       caps
		local     []string
		requested caps
		want      agentprotocol.NegotiateResult
		reasons   []string // parts of the reason, each there once; the wording is free
	}{
		{
			name: "first choice", supported: []string{"v1", "v2"}, has: caps{"read"}, local: []string{"v2", "v1"}, requested: caps{"read"},
			want: agentprotocol.NegotiateResult{Compatible: true, NegotiatedVersion: "v2", SharedCapabilities: caps{"read"}},
		},
		{
			name: "nothing requested", supported: []string{"v1"}, has: caps{"read"}, local: []string{"v1"},
			want: agentprotocol.NegotiateResult{Compatible: true, NegotiatedVersion: "v1"},
		},
		{
			name: "second choice", supported: []string{"v1"}, has: caps{"read"}, local: []string{"v2", "v1"}, requested: caps{"read"},
			want:    agentprotocol.NegotiateResult{Compatible: true, NegotiatedVersion: "v1", SharedCapabilities: caps{"read"}, Degraded: true},
			reasons: []string{`"v1"`, `"v2"`},
		},
		{
			name: "requested order, each once", supported: []string{"v1"}, has: caps{"read", "propose", "handoff"}, local: []string{"v1"},
			requested: caps{"handoff", "read", "handoff", "read"},
			want:      agentprotocol.NegotiateResult{Compatible: true, NegotiatedVersion: "v1", SharedCapabilities: caps{"handoff", "read"}},
		},
		{
			name: "missing capabilities", supported: []string{"v1"}, has: caps{"read"}, local: []string{"v2", "v1"},
			requested: caps{"approve", "read", "confirm", "approve"},
			want:      agentprotocol.NegotiateResult{NegotiatedVersion: "v1", SharedCapabilities: caps{"read"}},
			reasons:   []string{`"approve"`, `"confirm"`},
		},
		{
			name: "nothing shared", supported: []string{"v1"}, local: []string{"v1"}, requested: caps{"read"},
			want:    agentprotocol.NegotiateResult{NegotiatedVersion: "v1"},
			reasons: []string{`"read"`},
		},
		{
			name: "no common version", supported: []string{"v3"}, has: caps{"read"}, local: []string{"v1", "v2"}, requested: caps{"read"},
			reasons: []string{"version", `"v1"`, `"v2"`, `"v3"`},
		},
		{
			name: "neither version nor capability", supported: []string{"v3"}, has: caps{"read"}, local: []string{"v1"}, requested: caps{"approve"},
			reasons: []string{"version", `"approve"`},
		},
		{name: "no versions", reasons: []string{"version"}},
		{name: "blank versions do not match", supported: []string{"", " "}, local: []string{"", " "}, reasons: []string{"version"}},
		{
			name: "a blank version is no choice", supported: []string{"v1"}, local: []string{" ", "v1"},
			want: agentprotocol.NegotiateResult{Compatible: true, NegotiatedVersion: "v1"},
		},
		{
			name: "the flags do not count", supported: []string{"v1"}, local: []string{"v1"}, requested: caps{"handoff"},
			want:    agentprotocol.NegotiateResult{NegotiatedVersion: "v1"},
			reasons: []string{`"handoff"`},
		},
	} {
		d := agentprotocol.AdapterDescriptor{SupportedVersions: c.supported, Capabilities: c.has, SupportsHandoff: true}
		local, requested := slices.Clone(c.local), slices.Clone(c.requested)
		got := agentprotocol.Negotiate(d, c.local, c.requested)
		for _, part := range c.reasons {
			if strings.Count(got.Reason, part) != 1 {
				t.Errorf("%s: reason %q does not say %s once", c.name, got.Reason, part)
			}
		}
		if (got.Reason != "") != (len(c.reasons) > 0) {
			t.Errorf("%s: reason %q", c.name, got.Reason)
		}
		got.Reason = ""
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", c.name, got, c.want)
		}
		if !slices.Equal(local, c.local) || !slices.Equal(requested, c.requested) {
			t.Errorf("%s: the arguments changed", c.name)
		}
	}
}

func TestNegotiateProperties(t *testing.T) {
	versions := rapid.SliceOfN(rapid.SampledFrom([]string{"v1", "v2", "v3"}), 0, 3)
	capabilities := rapid.SliceOfN(rapid.SampledFrom(caps{"read", "propose", "review", "fly"}), 0, 4)
	rapid.Check(t, func(t *rapid.T) {
		d := agentprotocol.AdapterDescriptor{
			SupportedVersions: versions.Draw(t, "supported"),
			Capabilities:      capabilities.Draw(t, "has"),
		}
		local, requested := versions.Draw(t, "local"), capabilities.Draw(t, "requested")
		got := agentprotocol.Negotiate(d, local, requested)

		hasVersion := got.NegotiatedVersion != ""
		lacks := slices.ContainsFunc(requested, func(c agentprotocol.Capability) bool { return !slices.Contains(d.Capabilities, c) })
		if got.Compatible != (hasVersion && !lacks) {
			t.Fatalf("compatible: %+v", got)
		}
		if got.Degraded != (got.Compatible && got.NegotiatedVersion != local[0]) {
			t.Fatalf("degraded: %+v", got)
		}
		if (got.Reason == "") != (got.Compatible && !got.Degraded) {
			t.Fatalf("reason: %+v", got)
		}
		for _, v := range local {
			if v == got.NegotiatedVersion {
				break
			}
			if slices.Contains(d.SupportedVersions, v) {
				t.Fatalf("%q comes first: %+v", v, got)
			}
		}
		var shared caps
		for _, c := range requested {
			if hasVersion && slices.Contains(d.Capabilities, c) && !slices.Contains(shared, c) {
				shared = append(shared, c)
			}
		}
		if !reflect.DeepEqual(got.SharedCapabilities, shared) {
			t.Fatalf("shared %#v, want %#v", got.SharedCapabilities, shared)
		}
	})
}
