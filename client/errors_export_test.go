package client

import "github.com/kinform/kinform/internal/mistake"

// The errors for tests, which tell them apart.
var (
	ErrTable         = errTable
	ErrNotKubernetes = errNotKubernetes
	ErrWrongKind     = errWrongKind
	ErrScope         = mistake.Scope
	ErrMetadataOnly  = errMetadataOnly
	ErrNotAnObject   = errNotAnObject
	ErrStalled       = errStalled
)
