package informer

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kinform/kinform/internal/usercode"
	"github.com/kinform/kinform/reflector"
)

// keyOf calls the user's key function. It returns the function's error, [ErrZeroKey] or a
// *PanicError.
func (i *core[K, T]) keyOf(obj T) (K, error) {
	key, err := usercode.Key(i.key, obj)
	if panicked, ok := err.(*PanicError); ok {
		located(i, panicked)
	}
	return key, err
}

// badObject reports and counts an object that the informer itself could not use.
func (i *core[K, T]) badObject(bad *reflector.ObjectError) {
	bad.Resource = i.Resource()
	i.badObjects.Add(1)
	i.report(bad)
}

// about puts the name of the collection before an error.
func (i *core[K, T]) about(err error) error { return about(i.name, err) }

func about(resource string, err error) error { return fmt.Errorf("%s: %w", resource, err) }

// older reports whether resourceVersion a is older than b. If they cannot be compared, it is
// not.
func older(a, b string) bool {
	c, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && c < 0
}
