package expire

import "github.com/kinform/kinform/internal/usercode"

// PanicError is a panic of Options.OnExpired, or a call of runtime.Goexit there. Key is the key of
// the expired object as package fmt prints it, Value was given to panic, Stack is the stack at that
// point. It is the same type as informer.PanicError.
type PanicError = usercode.PanicError
