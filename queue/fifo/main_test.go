package fifo

import (
	"context"
	"errors"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// never is a context that is over: with it no method waits.
var never = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

var errFails = errors.New("fails")

func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// wantErr fails the test unless err is want, or nil for nil.
func wantErr(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) || want == nil && err != nil {
		t.Fatalf("got error %v, want %v", err, want)
	}
}

// chooser is where a script of operations comes from.
type chooser interface {
	// IntN returns a number in [0, n).
	IntN(n int) int
}

// bytesChooser takes its choices from a fuzzer's input.
type bytesChooser struct{ left []byte }

func (b *bytesChooser) IntN(n int) int {
	if len(b.left) == 0 {
		return 0
	}
	c := int(b.left[0])
	b.left = b.left[1:]
	return c % n
}
