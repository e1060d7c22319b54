package pipeline

import (
	"runtime/debug"

	"github.com/kinform/kinform/reflector"
)

// keys returns the program's key function with its panics kept from the process, and with
// zero keys refused.
func (p *Pipeline[K, T]) keys(key func(T) (K, error)) func(T) (K, error) {
	return func(obj T) (k K, err error) {
		defer func() {
			if value := recover(); value != nil {
				err = &PanicError{Where: "key function", Resource: p.resource, Value: value, Stack: debug.Stack()}
			}
		}()
		k, err = key(obj)
		if err == nil && k == *new(K) {
			err = ErrZeroKey
		}
		return k, err
	}
}

// badObject reports an object that has no key.
func (p *Pipeline[K, T]) badObject(bad *reflector.ObjectError) {
	bad.Resource = p.resource
	p.opts.OnError(bad)
}
