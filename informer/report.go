package informer

import (
	"fmt"

	"github.com/kinform/kinform/internal/usercode"
	"github.com/kinform/kinform/reflector"
)

// Err returns every mistake in the setup of the informer, joined: the error of [Failed], and the
// errors of [AddIndex]. Nil means that there is none, and says nothing about requests: see Stats.
// It is safe from any goroutine.
func (i *Informer[K, T]) Err() error { return i.engine.Err() }

func (i *core[K, T]) Err() error { return i.faults.err() }

// refuse keeps an error of the setup.
func (i *core[K, T]) refuse(err error) {
	i.mu.Lock() // begin has seen it, or has begun
	i.faults.add(err)
	begun := i.phase != phaseNotStarted
	i.mu.Unlock()
	if begun {
		i.report(err)
	}
}

// report calls OnError. A panic there ends Run. Called while the informer runs.
func (i *core[K, T]) report(err error) {
	defer func() {
		if value := recover(); value != nil {
			i.session.Load().Fail(located(i, usercode.Panicked("OnError", value)))
		}
	}()
	i.opts.OnError(err)
}

// reportMutations reports the errors whose difference is not empty.
func reportMutations[K comparable, T any](i *core[K, T], found []*MutationError) {
	for _, err := range found {
		err.Resource = i.Resource()
		if err.Diff = err.diff(); err.Diff != "" {
			err.diff = nil
			i.report(err)
		}
	}
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

// contain calls user code. It reports a panic or a call of runtime.Goexit there, and ends Run.
// about completes the error.
func contain[K comparable, T any](i *core[K, T], s *session[K, T], where string, about func(*PanicError), run func()) {
	usercode.Contain(where, run, func(err *PanicError) {
		about(err)
		runFailed(i, s, err)
	})
}

// runFailed ends Run because of err, and reports it.
func runFailed[K comparable, T any](i *core[K, T], s *session[K, T], err *PanicError) {
	err.Resource = i.Resource()
	s.Fail(err)
	i.report(err)
}

// located adds the collection's name to an error.
func located[K comparable, T any](i *core[K, T], err *PanicError) *PanicError {
	err.Resource = i.Resource()
	return err
}

func noKey(*PanicError) {}

// keyOf calls the user's key function. It returns the function's error, usercode.ErrZeroKey or a
// *PanicError.
func (i *core[K, T]) keyOf(obj T) (K, error) {
	key, err := usercode.Key(i.key, obj)
	if panicked, ok := err.(*PanicError); ok {
		located(i, panicked)
	}
	return key, err
}
