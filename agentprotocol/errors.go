package agentprotocol

// The codes of a StableError. A code keeps its meaning within a schema
// version; messages may change.
const (
	// ErrCodeInvalidScope: a scope is malformed.
	ErrCodeInvalidScope = "invalid_scope"
	// ErrCodeInsufficientScope: the request lies outside the principal's scope.
	ErrCodeInsufficientScope = "insufficient_scope"
	// ErrCodePermissionUnknown: the vault cannot tell whether the principal
	// may read what was asked for.
	ErrCodePermissionUnknown = "permission_unknown"
	// ErrCodeValidationFailed: a value other than a scope is malformed.
	ErrCodeValidationFailed = "validation_failed"
	// ErrCodeApprovalRequired: the principal may not do this alone.
	ErrCodeApprovalRequired = "approval_required"
	// ErrCodeConflictRequired: a conflict waits for the approver's choice.
	ErrCodeConflictRequired = "conflict_required"
	// ErrCodeRejected: the proposal was rejected or is already used.
	ErrCodeRejected = "rejected"
	// ErrCodeAdapterUnavailable: the adapter negotiated no version.
	ErrCodeAdapterUnavailable = "adapter_unavailable"
	// ErrCodeBudgetExceeded: not everything fitted into the budget. It is
	// never fatal; it goes with ContextPack.Truncated.
	ErrCodeBudgetExceeded = "budget_exceeded"
)

// StableError is an error with a code that programs can rely on.
type StableError struct {
	// Code is one of the ErrCode constants.
	Code string `json:"code"`
	// Message is for people.
	Message string `json:"message"`
	// Details holds further facts for programs.
	Details map[string]string `json:"details,omitempty"`
}

// NewStableError returns an error with the code and the message.
func NewStableError(code, message string) *StableError {
	return &StableError{Code: code, Message: message}
}

// Error returns "code: message", the message alone if there is no code, and ""
// for a nil receiver.
func (e *StableError) Error() string {
	if e == nil {
		return ""
	}
	if isBlank(e.Code) {
		return e.Message
	}
	return e.Code + ": " + e.Message
}

// WithDetail sets a detail on e and returns e. A nil receiver stays nil. It is
// for the maker of an error: one that others already hold must not be changed.
func (e *StableError) WithDetail(key, value string) *StableError {
	if e == nil {
		return nil
	}
	if e.Details == nil {
		e.Details = make(map[string]string)
	}
	e.Details[key] = value
	return e
}

// Is reports whether target is a StableError with the same code, whatever the
// message and the details, so that errors.Is can ask for a code.
func (e *StableError) Is(target error) bool {
	t, ok := target.(*StableError)
	return ok && e != nil && t != nil && e.Code == t.Code
}
