package agentprotocol_test

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"testing"

	"longmemory.dev/lm/agentprotocol"
)

func TestStableErrorError(t *testing.T) {
	for _, c := range []struct {
		err  *agentprotocol.StableError
		want string
	}{
		{nil, ""},
		{&agentprotocol.StableError{}, ""},
		{agentprotocol.NewStableError("rejected", "already used"), "rejected: already used"},
		{agentprotocol.NewStableError("", "already used"), "already used"},
		{agentprotocol.NewStableError(" ", "already used"), "already used"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.err, got, c.want)
		}
	}
}

func TestStableErrorWithDetail(t *testing.T) {
	err := agentprotocol.NewStableError("rejected", "already used")
	if err.Details != nil {
		t.Errorf("a new error has details: %v", err.Details)
	}
	if got := err.WithDetail("a", "1").WithDetail("b", "2").WithDetail("a", "3"); got != err {
		t.Error("WithDetail returned another error")
	}
	if want := map[string]string{"a": "3", "b": "2"}; !maps.Equal(err.Details, want) {
		t.Errorf("details = %v", err.Details)
	}
	if got := (*agentprotocol.StableError)(nil).WithDetail("a", "1"); got != nil {
		t.Errorf("nil receiver: %v", got)
	}
}

func TestStableErrorIs(t *testing.T) {
	rejected := agentprotocol.NewStableError("rejected", "already used")
	wrapped := fmt.Errorf("principal: %w", rejected)
	if !errors.Is(wrapped, agentprotocol.NewStableError("rejected", "").WithDetail("a", "1")) {
		t.Error("an equal code does not match")
	}
	for _, target := range []error{
		agentprotocol.NewStableError("Rejected", "already used"),
		agentprotocol.NewStableError("", "already used"),
		(*agentprotocol.StableError)(nil),
		io.EOF,
		nil,
	} {
		if errors.Is(wrapped, target) {
			t.Errorf("%#v matches", target)
		}
	}
	if (*agentprotocol.StableError)(nil).Is(rejected) {
		t.Error("a nil receiver matches")
	}
}

// A valid value must give a nil interface, not a nil *StableError in one.
func TestValidIsNil(t *testing.T) {
	for _, v := range []validator{
		fullScope(), fullSources(), fullSources()[0], fullPrincipal(), fullRecord(),
		fullProposal(), fullRequest(), fullHandoff(), fullFeedback(), fullDescriptor(),
	} {
		if err := v.Validate(); err != nil {
			t.Errorf("%T: %#v", v, err)
		}
	}
	if err := fullPack().AssertNoBody(1000); err != nil {
		t.Errorf("AssertNoBody: %#v", err)
	}
}
