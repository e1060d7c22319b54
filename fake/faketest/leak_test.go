package faketest_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/kinform/kinform/fake/faketest"
)

// tester records what a helper does to a test.
type tester struct {
	cleanup []func()
	errors  []string
}

func (*tester) Helper()                        {}
func (f *tester) Cleanup(do func())            { f.cleanup = append(f.cleanup, do) }
func (f *tester) Errorf(s string, args ...any) { f.errors = append(f.errors, fmt.Sprintf(s, args...)) }

func TestNoLeaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // goleak waits for goroutines to end
		for _, leaks := range []bool{false, true} {
			var f tester
			stop := make(chan struct{})
			before := make(chan struct{})
			go func() { <-before }()
			faketest.NoLeaks(&f)
			go func() { <-stop }()
			if !leaks {
				close(stop)
			}
			for _, do := range f.cleanup {
				do()
			}
			if got := len(f.errors) > 0; got != leaks {
				t.Errorf("leaks %t: %q", leaks, f.errors)
			}
			if leaks {
				close(stop)
			}
			close(before)
		}
	})
}
