package queue

import "github.com/kinform/kinform/internal/usercode"

// The error of a panic, for tests.
type PanicError = usercode.PanicError
