package informer

import (
	"fmt"

	"github.com/kinform/kinform/internal/keytext"
	"github.com/kinform/kinform/internal/mutation"
	"github.com/kinform/kinform/internal/usercode"
	"github.com/kinform/kinform/reflector"
)

// Err returns every mistake in the setup of the informer, joined: the error of [Failed], and the
// errors of [AddIndex]. Nil means that there is none, and says nothing about requests: see Stats.
// It is safe from any goroutine.
func (i *Informer[K, T]) Err() error { return i.engine.Err() }

func (i *base) Err() error { return i.faults.err() }

// refuse keeps an error of the setup.
func (i *base) refuse(err error) {
	i.mu.Lock() // begin has seen it, or has begun
	i.faults.add(err)
	begun := i.phase != phaseNotStarted
	i.mu.Unlock()
	if begun {
		report(i, err)
	}
}

// report calls OnError. A panic there ends Run. Called while the informer runs.
func report(i *base, err error) {
	defer func() {
		if value := recover(); value != nil {
			present(i).run.Fail(located(i, usercode.Panicked("OnError", value)))
		}
	}()
	i.onError(err)
}

// reportMutations reports the writes whose difference is not empty.
func reportMutations(i *base, found []mutation.Found) {
	for _, f := range found {
		if diff := f.Diff(); diff != "" {
			report(i, &MutationError{Resource: i.name, Key: keytext.Of(f.Key), Handlers: f.Handlers, Diff: diff})
		}
	}
}

// badObject reports and counts an object that the informer itself could not use.
func badObject(i *base, bad *reflector.ObjectError) {
	bad.Resource = i.name
	i.badObjects.Add(1)
	report(i, bad)
}

// about puts the name of the collection before an error.
func about(resource string, err error) error { return fmt.Errorf("%s: %w", resource, err) }

// aboutKey puts the name of the collection and a key before an error.
func aboutKey(resource string, key any, err error) error {
	return fmt.Errorf("%s: %s: %w", resource, keytext.Of(key), err)
}

// badKey is the error of what cannot be stored under a key.
func badKey(key any, err error) *reflector.ObjectError {
	return &reflector.ObjectError{Key: keytext.Of(key), Err: err}
}

// contain calls user code. It reports a panic or a call of runtime.Goexit there, and ends Run.
// about completes the error.
func contain(i *base, s *session, where string, about func(*PanicError), run func()) {
	usercode.Contain(where, run, func(err *PanicError) {
		about(err)
		runFailed(i, s, err)
	})
}

// runFailed ends Run because of err, and reports it.
func runFailed(i *base, s *session, err *PanicError) {
	err.Resource = i.name
	s.run.Fail(err)
	report(i, err)
}

// located adds the collection's name to an error.
func located(i *base, err *PanicError) *PanicError {
	err.Resource = i.name
	return err
}

func noKey(*PanicError) {}

// keyOf calls the user's key function. It returns the function's error, usercode.ErrZeroKey or a
// *PanicError.
func (i *core[K, T]) keyOf(obj T) (K, error) {
	key, err := usercode.Key(i.key, obj)
	if panicked, ok := err.(*PanicError); ok {
		located(&i.base, panicked)
	}
	return key, err
}
