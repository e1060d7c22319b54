package store

import (
	"github.com/kinform/kinform/internal/mapkey"
	"github.com/kinform/kinform/internal/mistake"
	"github.com/kinform/kinform/internal/usercode"
)

// The errors for tests, which tell the mistakes apart.
var (
	ErrNoKeyFunc   = errNoKeyFunc
	ErrZeroKey     = usercode.ErrZeroKey
	ErrKeyMismatch = errKeyMismatch
	ErrKeyType     = mapkey.ErrKeyType
	ErrNoObject    = mistake.NoObject
	ErrNoName      = usercode.ErrNoName
	ErrKeyText     = errKeyText
)

type PanicError = usercode.PanicError
