package informer

import "github.com/kinform/kinform/internal/mistake"

// The mistakes that only their texts tell apart.
var (
	ErrNamespace    = errNamespace
	ErrNoHandler    = mistake.NoHandler
	ErrNoKeyFunc    = errNoKeyFunc
	ErrNoNamespaces = errNoNamespaces

	ErrTooManyWrites = errTooManyWrites
)
