package controller

// The mistakes that are told apart by their texts alone.
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
