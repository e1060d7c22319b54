package terms_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/kinform/kinform/controller/internal/terms"
	"github.com/kinform/kinform/internal/verdict"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Work is called once in each term, and a term waits for all of it.
func TestEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all terms.Terms
		ctx, cancel := context.WithCancel(t.Context())
		calls := [2][]error{} // causes of the ends
		ended := make(chan error)
		for n := range calls {
			go func() {
				ended <- terms.Each(all.With(ctx), func(term context.Context) error {
					<-term.Done()
					time.Sleep(time.Duration(n) * time.Second) // it needs a while
					lost := new(verdict.AtOnceError)
					if !errors.As(context.Cause(term), &lost) {
						t.Errorf("the cause is %v, which leaves running calls their time", context.Cause(term))
					}
					calls[n] = append(calls[n], lost.Err)
					return nil
				})
			}()
		}
		want := []error{errors.New("one"), errors.New("two")}
		for _, reason := range want {
			term, lose := context.WithCancelCause(ctx)
			began := time.Now()
			time.AfterFunc(time.Hour, func() { lose(reason) })
			all.Run(term)
			if took := time.Since(began); took != time.Hour+time.Second {
				t.Errorf("the term took %v", took)
			}
			time.Sleep(time.Hour)
		}
		cancel()
		for n := range calls {
			if err := <-ended; err != nil || !slices.Equal(calls[n], want) {
				t.Errorf("%d was called with the ends %v, and returned %v", n, calls[n], err)
			}
		}
	})
}

// Each ends with work that fails or returns by itself, and work ends with the context of Each.
func TestEachEnds(t *testing.T) {
	broken, over := errors.New("broken"), errors.New("over")
	for name, test := range map[string]struct {
		work func(context.Context) error
		want error
	}{
		"fails":   {func(term context.Context) error { <-term.Done(); return broken }, broken},
		"returns": {func(context.Context) error { return nil }, nil},
		"ends":    {func(term context.Context) error { <-term.Done(); return context.Cause(term) }, over},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var all terms.Terms
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				term, lose := context.WithCancel(t.Context())
				defer lose()
				go all.Run(term)
				ended := make(chan error, 1)
				go func() { ended <- terms.Each(all.With(ctx), test.work) }()
				synctest.Wait()
				if name == "fails" {
					lose()
				} else {
					cancel(over)
				}
				if err := <-ended; err != test.want {
					t.Errorf("got %v, want %v", err, test.want)
				}
			})
		})
	}
}

// Without terms there is one, and without a term there is no work.
func TestNoTerms(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	work := func(got context.Context) error {
		if got != ctx {
			t.Error("the context is another one")
		}
		calls++
		return nil
	}
	if err := terms.Each(ctx, work); err != nil || calls != 1 {
		t.Errorf("%d calls, %v", calls, err)
	}
	cancel()
	if err := terms.Each(new(terms.Terms).With(ctx), work); err != nil || calls != 1 {
		t.Errorf("%d calls, %v", calls, err)
	}
}
