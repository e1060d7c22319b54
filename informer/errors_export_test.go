package informer

import "github.com/kinform/kinform/internal/mistake"

// The mistakes that are told apart by their texts alone.
var (
	ErrNamespace    = errNamespace
	ErrNoHandler    = mistake.NoHandler
	ErrNoKeyFunc    = errNoKeyFunc
	ErrNoNamespaces = errNoNamespaces
)
