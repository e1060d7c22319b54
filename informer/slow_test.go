package informer_test

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/deltafifo"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
)

// slowReports returns a function that collects the reports of slow handlers, and one that returns
// them.
func slowReports() (onError func(error), reports func() []*informer.SlowHandlerError) {
	found := make(chan *informer.SlowHandlerError, 1000)
	onError = func(err error) {
		var slow *informer.SlowHandlerError
		if errors.As(err, &slow) {
			found <- slow
		}
	}
	return onError, func() (all []*informer.SlowHandlerError) {
		for len(found) > 0 {
			all = append(all, <-found)
		}
		return all
	}
}

// A handler that hangs is reported after 10 seconds, and then once a minute, by its name. A handler that lags less is
// not, and one that the informer does not wait for only because it does not return.
func TestStuckHandlerIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		onError, all := slowReports()
		stuck := 0
		reports := func() []*informer.SlowHandlerError { // but for the coalescing handler's own
			return slices.DeleteFunc(all(), func(err *informer.SlowHandlerError) bool {
				if err.Stuck {
					stuck++
					if err.Handler != "coalescing" {
						t.Errorf("reported twice: %v", err)
					}
				}
				return err.Stuck
			})
		}
		inf := newInformer(t, source(t, server), informer.Options[*widget]{OnError: onError, Pending: 2})
		const lag = 8
		informer.SetLag(inf, lag)
		release := make(chan struct{})
		must1(inf.AddHandler(informer.HandlerFunc[key, *widget](func(informer.Event[key, *widget]) {}), handlerOptions{Name: "quick"}))(t)
		must1(inf.AddHandler(informer.HandlerFunc[key, *widget](func(informer.Event[key, *widget]) { <-release }), handlerOptions{Name: "stuck"}))(t)
		must1(inf.AddHandler(informer.HandlerFunc[key, *widget](func(informer.Event[key, *widget]) { <-release }),
			handlerOptions{Name: "coalescing", Coalesce: true}))(t)
		stop := run(t, inf)
		begin := time.Now()
		for n := range 3 * lag {
			must1(fake.Create(server, newWidget("a", fmt.Sprint("w", n), "n")))(t)
			synctest.Wait()
		}
		time.Sleep(10*time.Second - time.Nanosecond)
		if got := reports(); len(got) != 0 {
			t.Errorf("reported too early: %v", got[0])
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		got := reports()
		if len(got) != 1 || got[0].Handler != "stuck" || got[0].Behind <= lag || got[0].Waited != 10*time.Second || !got[0].Since.Equal(begin) {
			t.Fatalf("after 10 s: %+v", got)
		}
		if text := got[0].Error(); !strings.Contains(text, `"stuck"`) || !strings.Contains(text, "widgets") {
			t.Errorf("the error says %q", text)
		}
		if v := slog.AnyValue(got[0]).Resolve(); v.Kind() != slog.KindGroup {
			t.Errorf("logged as %v", v)
		}
		for minute := range 3 {
			time.Sleep(time.Minute)
			synctest.Wait()
			if got := reports(); len(got) != 1 || got[0].Waited != 10*time.Second {
				t.Errorf("in minute %d: %+v", minute+1, got)
			}
		}
		close(release)
		time.Sleep(time.Hour)
		if got := reports(); len(got) != 0 {
			t.Errorf("reported after it went on: %v", got[0])
		}
		s := inf.Stats()
		if s.SlowHandlers != 4+3 || stuck != 3 || s.HandlerWait != 10*time.Second+3*time.Minute || s.Overruns != inf.Handlers()[0].Overruns {
			t.Errorf("%d reports, %v of waiting, %d overruns", s.SlowHandlers, s.HandlerWait, s.Overruns)
		}
		if s.Batches == 0 || s.Batches > s.Changes || s.Changes != 3*lag || s.CommitTime != 0 {
			t.Errorf("%d batches of %d changes took %v", s.Batches, s.Changes, s.CommitTime)
		}
		stop()
	})
}

// Many short waits count together, and few of them do not.
func TestSlowHandlerIsReported(t *testing.T) {
	for _, c := range []struct {
		name  string
		takes time.Duration // per event
		every time.Duration // time between events
		want  bool
	}{
		{"half of the time", 2 * time.Second, 1 * time.Second, true},
		{"now and then", 2 * time.Second, 30 * time.Second, false},
		{"quick", time.Millisecond, time.Second, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newServer(t)
				onError, reports := slowReports()
				inf := newInformer(t, source(t, server), informer.Options[*widget]{OnError: onError, Pending: 2})
				informer.SetLag(inf, 1)
				must1(inf.AddHandler(informer.HandlerFunc[key, *widget](func(informer.Event[key, *widget]) { time.Sleep(c.takes) }), handlerOptions{}))(t)
				stop := run(t, inf)
				const events = 240
				for n := range events {
					must1(fake.Create(server, newWidget("a", fmt.Sprint("w", n), "n")))(t)
					time.Sleep(c.every)
				}
				all := len(reports())
				if minutes := int(events * c.every / time.Minute); (all > 0) != c.want || all > minutes+1 {
					t.Errorf("%d reports in %d minutes", all, minutes)
				}
				stop()
			})
		})
	}
}

// A commit that takes over 100 ms while more than 10 changes come is reported. The wait for a
// handler does not count.
func TestSlowCommitIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		var errs errorsOf
		slow := make(chan time.Duration, 1)
		sleepy := index.New("sleepy", func(dst []string, _ *widget) []string {
			select {
			case d := <-slow:
				time.Sleep(d)
			default:
			}
			return dst
		})
		inf := newInformer(t, &restless{source(t, server), 1}, informer.Options[*widget]{OnError: errs.add, Indexes: index.Of(sleepy)})
		informer.SetLag(inf, 1)
		wait := make(chan time.Duration, 1)
		must1(inf.AddHandler(informer.HandlerFunc[key, *widget](func(informer.Event[key, *widget]) {
			select {
			case d := <-wait:
				time.Sleep(d)
			default:
			}
		}), handlerOptions{}))(t)
		stop := run(t, inf)
		burst := func(name string) {
			for n := range 15 {
				must1(fake.Create(server, newWidget("a", fmt.Sprint(name, n), "n")))(t)
				synctest.Wait()
			}
			time.Sleep(time.Minute)
			synctest.Wait()
		}
		wait <- time.Second
		burst("handler")
		if got, ok := find[*deltafifo.SlowError](&errs); ok {
			t.Errorf("a wait for a handler is reported: %v", got)
		}
		slow <- time.Second
		burst("index")
		got, ok := find[*deltafifo.SlowError](&errs)
		if !ok || got.Resource != "widgets.example.com" || got.Deltas != 1 || got.Pending != 14 || got.Took != time.Second {
			t.Errorf("got %+v", got)
		}
		if want := "widgets.example.com: 1 changes took 1s to process, and 14 others wait"; ok && got.Error() != want {
			t.Errorf("got %q, want %q", got, want)
		}
		stop()
	})
}
