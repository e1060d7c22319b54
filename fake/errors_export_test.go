package fake

// The mistakes that are told apart by their texts alone.
var (
	ErrAmbiguous = errAmbiguous
	ErrBackup    = errBackup
	ErrDuplicate = errDuplicate
	ErrManifest  = errManifest
	ErrResource  = errResource
	ErrScope     = errScope
	ErrType      = errType
)
