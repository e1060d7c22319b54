package fake

// The mistakes that only their texts tell apart.
var (
	ErrAmbiguous = errAmbiguous
	ErrBackup    = errBackup
	ErrDuplicate = errDuplicate
	ErrManifest  = errManifest
	ErrResource  = errResource
	ErrScope     = errScope
	ErrType      = errType
)
