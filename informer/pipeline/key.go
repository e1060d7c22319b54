package pipeline

import (
	"github.com/kinform/kinform/internal/usercode"
	"github.com/kinform/kinform/reflector"
)

// keys returns the program's key function, with panics contained and zero keys refused.
func (p *Pipeline[K, T]) keys(key func(T) (K, error)) func(T) (K, error) {
	return func(obj T) (K, error) {
		k, err := usercode.Key(key, obj)
		if panicked, ok := err.(*PanicError); ok {
			panicked.Resource = p.resource
		}
		return k, err
	}
}

// badObject reports an object without a key.
func (p *Pipeline[K, T]) badObject(bad *reflector.ObjectError) {
	bad.Resource = p.resource
	p.opts.OnError(bad)
}
