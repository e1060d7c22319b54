package informer_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
)

type widgetInformer = *informer.Informer[key, *widget]

// waitsInHandlers are the ways in which a handler can wait until object name of namespace a
// is in the store, at resourceVersion rv.
var waitsInHandlers = map[string]func(ctx context.Context, inf widgetInformer, name, rv string) error{
	"WaitForRV": func(ctx context.Context, inf widgetInformer, _, rv string) error { return inf.WaitForRV(ctx, rv) },
	"WaitFor": func(ctx context.Context, inf widgetInformer, name, _ string) error {
		return inf.WaitFor(ctx, key{Namespace: "a", Name: name}, func(_ *widget, exists bool) bool { return exists })
	},
	"Store().WaitForRV": func(ctx context.Context, inf widgetInformer, _, rv string) error {
		return inf.Store().WaitForRV(ctx, rv)
	},
	"Store().WaitFor": func(ctx context.Context, inf widgetInformer, name, _ string) error {
		return inf.Store().WaitFor(ctx, key{Namespace: "a", Name: name}, func(_ *widget, exists bool) bool { return exists })
	},
	"another goroutine": func(ctx context.Context, inf widgetInformer, _, rv string) error {
		err := make(chan error)
		go func() { err <- inf.WaitForRV(ctx, rv) }()
		return <-err
	},
}

// TestHandlerWaits: a handler that is too far behind may wait for the store. The informer
// goes on, or it ends the wait with an error that says so.
func TestHandlerWaits(t *testing.T) {
	const lag = 8
	for way, wait := range waitsInHandlers {
		for _, c := range []struct {
			name          string
			before, after int // events before the handler begins to wait and while it does
			behind        bool
		}{
			{name: "little behind", before: lag / 2},
			{name: "behind", before: 3 * lag},
			{name: "falls behind", after: 3 * lag},
			{name: "far behind", before: 20 * lag, behind: true},
			{name: "falls far behind", after: 20 * lag, behind: true},
			{name: "falls behind more", before: 3 * lag, after: 20 * lag, behind: true},
		} {
			t.Run(way+"/"+c.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					handlerWaits(t, lag, c.before, c.after, c.behind, wait)
				})
			})
		}
	}
}

// handlerWaits has a handler wait for the last of the events, which are as many as before and
// after, and then see all of them.
func handlerWaits(t *testing.T, lag uint64, before, after int, behind bool, wait func(context.Context, widgetInformer, string, string) error) {
	server := newServer(t)
	inf := newInformer(t, source(t, server), informer.Options[*widget]{Pending: 2})
	informer.SetLag(inf, lag)
	begin, result := make(chan struct{}), make(chan error, 1)
	last := fmt.Sprint("w", before+after)
	version := func() string { // after all events
		return fmt.Sprint(must1(strconv.Atoi(server.ResourceVersion()))(t) + after)
	}
	seen := newHistory(t, inf)
	first := true
	must1(inf.AddHandler(checked(t, inf, func(ev informer.Event[key, *widget]) {
		if first {
			first = false
			<-begin
			result <- wait(t.Context(), inf, last, version())
		}
		seen.Handle(ev)
	}), handlerOptions{Name: "waiter"}))(t)
	other := newHistory(t, inf)
	must1(inf.AddHandler(other, handlerOptions{}))(t)
	defer run(t, inf)()
	create := func(n int) {
		must1(fake.Create(server, newWidget("a", fmt.Sprint("w", n), "n")))(t)
		synctest.Wait()
	}
	for n := range 1 + before {
		create(n)
	}
	close(begin)
	synctest.Wait()
	for n := range after {
		create(1 + before + n)
	}
	var err error
	select {
	case err = <-result:
	default:
		t.Fatal("the handler waits, and nothing goes on")
	}
	if errors.Is(err, informer.ErrHandlerBehind) != behind || !behind && err != nil {
		t.Errorf("the wait ended with %v, want one that is ErrHandlerBehind: %t", err, behind)
	}
	if behind && !strings.Contains(err.Error(), `"waiter"`) {
		t.Errorf("the error does not name the handler: %v", err)
	}
	if err := inf.WaitForRV(t.Context(), server.ResourceVersion()); err != nil {
		t.Errorf("a later wait returned %v", err)
	}
	synctest.Wait()
	seen.check(t, "waiter")
	other.check(t, "other")
}
