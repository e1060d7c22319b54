package client

// The errors for tests, which tell them apart.
var (
	ErrTable         = errTable
	ErrNotKubernetes = errNotKubernetes
	ErrWrongKind     = errWrongKind
	ErrScope         = errScope
	ErrMetadataOnly  = errMetadataOnly
	ErrNotAnObject   = errNotAnObject
	ErrStalled       = errStalled
)
