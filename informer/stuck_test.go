package informer_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
)

type event = informer.Event[key, *widget]

func handlerOf(f func(event)) informer.Handler[key, *widget] {
	return informer.HandlerFunc[key, *widget](f)
}

// A handler that does not return from its call is reported within 12 seconds, and then each minute, although few events
// wait for it: whatever it is called for, and also while it is removed or the informer stops.
func TestHandlerThatDoesNotReturn(t *testing.T) {
	isUpdate := func(ev event) bool { return ev.Type == informer.Updated && !ev.Sync }
	for name, test := range map[string]struct {
		opts  handlerOptions
		late  bool                                            // the handler is added to a filled cache
		then  func(reg *informer.Registration, cancel func()) // once it is stuck
		stuck func(ev event) bool
	}{
		"initial list":         {stuck: func(ev event) bool { return ev.Initial }},
		"end of a late replay": {late: true, stuck: func(ev event) bool { return ev.Object.Name == "w2" }},
		"change":               {stuck: isUpdate},
		"resync":               {opts: handlerOptions{Resync: time.Hour}, stuck: func(ev event) bool { return ev.Sync }},
		"coalescing":           {opts: handlerOptions{Coalesce: true}, stuck: isUpdate},
		"its removal":          {stuck: isUpdate, then: func(reg *informer.Registration, _ func()) { reg.Remove() }},
		"the end of Run":       {stuck: isUpdate, then: func(_ *informer.Registration, cancel func()) { cancel() }},
	} {
		for _, inFilter := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					server := newServer(t)
					for _, name := range []string{"w0", "w1", "w2"} {
						must1(fake.Create(server, newWidget("a", name, "n")))(t)
					}
					onError, reports := slowReports()
					inf := newInformer(t, source(t, server), informer.Options[*widget]{OnError: onError})
					release, began := make(chan struct{}), make(chan time.Time, 1)
					wait := func(ev event) {
						if test.stuck(ev) {
							select {
							case began <- time.Now():
							default:
							}
							<-release
						}
					}
					opts, handle := test.opts, wait
					opts.Name = "stuck"
					if inFilter {
						handle = func(event) {}
						opts.Filter = filterThatWaits(test.stuck, wait)
					}
					quick := must1(inf.AddHandler(handlerOf(func(event) {}), handlerOptions{Name: "quick"}))(t)
					var reg *informer.Registration
					add := func() { reg = must1(inf.AddHandler(handlerOf(handle), opts))(t) }
					if !test.late {
						add()
					}
					ctx, cancel := context.WithCancel(t.Context())
					ended := make(chan error, 1)
					go func() { ended <- inf.Run(ctx) }()
					<-quick.Synced()
					if test.late {
						time.Sleep(time.Hour)
						add()
					}
					synctest.Wait()
					w := newWidget("a", "w1", "other")
					must1(fake.Update(server, w))(t)
					at := <-began
					if test.then != nil {
						test.then(reg, cancel)
					}
					time.Sleep(time.Until(at.Add(12 * time.Second)))
					synctest.Wait()
					got := reports()
					if len(got) != 1 || got[0].Handler != "stuck" || !got[0].Stuck || got[0].Waited < 10*time.Second || got[0].Waited > 12*time.Second {
						t.Errorf("after 12 s: %+v", got)
					}
					time.Sleep(2 * time.Minute)
					synctest.Wait()
					if got := reports(); len(got) != 2 {
						t.Errorf("%d reports in two minutes", len(got))
					}
					close(release)
					time.Sleep(10 * time.Minute)
					if got := reports(); len(got) != 0 {
						t.Errorf("reported after it went on: %v", got[0])
					}
					if got := inf.Stats().SlowHandlers; got != 3 {
						t.Errorf("%d reports are counted", got)
					}
					cancel()
					if err := <-ended; err != nil {
						t.Errorf("Run returned %v", err)
					}
				})
			})
		}
	}
}

// filterThatWaits is a filter that waits as wait does for the event in which an object comes.
func filterThatWaits(stuck func(event) bool, wait func(event)) func(*widget) bool {
	return func(w *widget) bool {
		for _, ev := range []event{{Initial: true, Object: w}, {Type: informer.Updated, Object: w}, {Sync: true, Object: w}} {
			if stuck(ev) {
				wait(ev)
			}
		}
		return true
	}
}

// A handler that is busy for hours but returns from each call is not reported, nor is a loop over Events.
func TestHandlerThatReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		onError, reports := slowReports()
		inf := newInformer(t, source(t, server), informer.Options[*widget]{OnError: onError})
		must1(inf.AddHandler(handlerOf(func(event) { time.Sleep(9 * time.Second) }), handlerOptions{}))(t)
		go func() {
			for range inf.Events(t.Context(), handlerOptions{}) {
				time.Sleep(time.Hour)
			}
		}()
		stop := run(t, inf)
		for _, name := range strings.Split("abcdefghijklmnopqrst", "") {
			must1(fake.Create(server, newWidget("a", name, "n")))(t)
		}
		time.Sleep(time.Hour)
		if got := reports(); len(got) != 0 {
			t.Errorf("reported: %v", got[0])
		}
		stop()
		time.Sleep(24 * time.Hour) // the loop ends
	})
}

// The texts name the handler and what it does.
func TestStuckHandlerError(t *testing.T) {
	err := &informer.SlowHandlerError{Resource: "widgets", Handler: "mine", Stuck: true, Behind: 3, Waited: 15 * time.Second}
	if want := `widgets: "mine" has not returned from a call for 15s, and 3 events wait for it: its filter, function of Watch or handler must not wait: queue a key, and do the work in reconcile`; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	if first := err.LogValue().Group()[0]; first.Value.String() != "handler does not return" || slog.AnyValue(err).Kind() != slog.KindLogValuer {
		t.Errorf("logged as %v", first)
	}
}
