package usercode_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/kinform/kinform/internal/usercode"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestErrorText(t *testing.T) {
	for _, c := range []struct {
		err  *usercode.PanicError
		want string
	}{
		{nil, "panic"},
		{&usercode.PanicError{Where: "Limiter", Value: 7}, "Limiter panicked: 7\n"},
		{&usercode.PanicError{Where: "handler", Name: "h", Resource: "pods", Key: "a/b", Value: "no", Stack: []byte("stack")},
			"pods: handler of \"h\" panicked on object \"a/b\": no\nstack"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("Error() = %q, want %q", got, c.want)
		}
	}
}

// The value is in the chain if it is an error, for nil too.
func TestUnwrap(t *testing.T) {
	var none *usercode.PanicError
	boom := errors.New("boom")
	if !errors.Is(&usercode.PanicError{Value: boom}, boom) || errors.Unwrap(&usercode.PanicError{Value: 7}) != nil || none.Unwrap() != nil {
		t.Error("Unwrap is wrong")
	}
}

// A record has the attributes that are known, and no others.
func TestLogValue(t *testing.T) {
	var none *usercode.PanicError
	if got := none.LogValue(); got.Kind() != slog.KindString {
		t.Errorf("nil is logged as %v", got)
	}
	got := (&usercode.PanicError{Where: "handler", Key: "a/b", Value: "no", Stack: []byte("stack")}).LogValue().String()
	if want := "[message=handler panicked key=a/b where=handler error=panic: no stack=stack]"; got != want {
		t.Errorf("LogValue = %s, want %s", got, want)
	}
}

func TestCall(t *testing.T) {
	if err := usercode.Call("f", func() {}); err != nil {
		t.Errorf("Call = %v without a panic", err)
	}
	var panicked *usercode.PanicError
	err := usercode.Call("f", func() { panic(1) })
	if !errors.As(err, &panicked) || panicked.Where != "f" || panicked.Value != 1 || !strings.Contains(string(panicked.Stack), "TestCall") {
		t.Errorf("Call = %v", err)
	}
}

func TestContain(t *testing.T) {
	var got []error
	failed := func(err *usercode.PanicError) { got = append(got, err) }
	usercode.Contain("f", func() {}, failed)
	usercode.Contain("f", func() { panic("no") }, failed)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		usercode.Contain("f", runtime.Goexit, failed)
	}()
	<-ended
	if len(got) != 2 || errors.Is(got[0], usercode.ErrGoexit) || !errors.Is(got[1], usercode.ErrGoexit) {
		t.Errorf("failures: %v", got)
	}
}

func TestOutcome(t *testing.T) {
	bad := errors.New("bad")
	for want, f := range map[error]func() error{
		nil:                func() error { return nil },
		bad:                func() error { return bad },
		usercode.ErrGoexit: func() error { runtime.Goexit(); return nil },
	} {
		got := make(chan error, 1)
		go usercode.Outcome(f, func(err error) { got <- err })
		if err := <-got; err != want {
			t.Errorf("outcome %v, want %v", err, want)
		}
	}
}

func TestKey(t *testing.T) {
	bad := errors.New("bad")
	for name, c := range map[string]struct {
		key  func(int) (int, error)
		want error
	}{
		"good":    {func(n int) (int, error) { return n, nil }, nil},
		"zero":    {func(int) (int, error) { return 0, nil }, usercode.ErrZeroKey},
		"refused": {func(int) (int, error) { return 0, bad }, bad},
		"panic":   {func(int) (int, error) { panic(bad) }, bad},
	} {
		if key, err := usercode.Key(c.key, 7); !errors.Is(err, c.want) || err == nil && key != 7 {
			t.Errorf("%s: Key = %d, %v, want error %v", name, key, err, c.want)
		}
	}
}

// The first failure ends the context and is kept. One that comes after the end does not count.
func TestRun(t *testing.T) {
	first := errors.New("first")
	r := usercode.NewRun(t.Context())
	r.Go(func() { r.Fail(first) })
	<-r.Ctx.Done()
	r.Fail(errors.New("second"))
	r.Wait()
	if r.Err() != first {
		t.Errorf("Err = %v, want the first", r.Err())
	}
	ctx, cancel := context.WithCancel(t.Context())
	r = usercode.NewRun(ctx)
	cancel()
	r.Fail(first)
	if r.Err() != nil {
		t.Errorf("Err = %v after the end of the context", r.Err())
	}
	r = usercode.NewRun(t.Context())
	if r.Fail(nil); r.Err() != nil || r.Ctx.Err() == nil {
		t.Error("Fail(nil) does not end the context, or fails")
	}
}

// A stack is one line in the log, from the function that panicked outwards.
func TestStackInLog(t *testing.T) {
	var panicked *usercode.PanicError
	if err := usercode.Call("f", func() { inner() }); !errors.As(err, &panicked) {
		t.Fatal(err)
	}
	var stack string
	for _, a := range panicked.LogValue().Group() {
		if a.Key == "stack" {
			stack = a.Value.String()
		}
	}
	frames := strings.Split(stack, " < ")
	if strings.ContainsAny(stack, "\n\t") || len(frames) < 4 || !strings.Contains(frames[0], "usercode_test.inner usercode_test.go:") || !strings.Contains(frames[1], "TestStackInLog") {
		t.Errorf("stack = %q", stack)
	}
}

func inner() { panic("no") }
