package controller

// The mistakes that only their texts tell apart.
var (
	ErrNoCleanup   = errNoCleanup
	ErrNoEdit      = errNoEdit
	ErrNoFilter    = errNoFilter
	ErrNoFinalizer = errNoFinalizer
	ErrNoKeys      = errNoKeys
	ErrNoInformer  = errNoInformer
	ErrNoManager   = errNoManager
	ErrNoOwners    = errNoOwners
	ErrNoStatus    = errNoStatus
	ErrNoVersion   = errNotRead
	ErrNotStatus   = errNotStatus
	ErrNotWatched  = errNotWatched
	ErrOwner       = errOwner
	ErrRenamed     = errRenamed
	ErrStarted     = errStarted
)
