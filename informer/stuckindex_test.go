package informer_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
)

// A function of an index that does not return is reported within 14 seconds, and then each minute. One that is slow, and
// returns, is not.
func TestIndexFunctionThatDoesNotReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		reports := make(chan error, 100)
		inf := newInformer(t, source(t, server), informer.Options[*widget]{OnError: func(err error) { reports <- err }})
		release := make(chan struct{})
		var waits atomic.Bool
		informer.AddIndex(inf, index.By("by name", func(w *widget) string {
			if time.Sleep(5 * time.Second); waits.Load() {
				<-release
			}
			return w.Name
		}))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- inf.Run(ctx) }()
		for _, name := range []string{"a", "b", "c", "d"} {
			must1(fake.Create(server, newWidget("a", name, "n")))(t)
			time.Sleep(5 * time.Second)
		}
		time.Sleep(time.Hour)
		waits.Store(true)
		must1(fake.Create(server, newWidget("a", "stuck", "n")))(t)
		time.Sleep(10 * time.Second)
		if len(reports) != 0 {
			t.Fatalf("reported too early: %v", <-reports)
		}
		time.Sleep(10 * time.Second)
		if len(reports) != 1 {
			t.Fatalf("%d reports after 20 s", len(reports))
		}
		const want = "widgets.example.com: a commit has taken 10s so far, in the function of an index: it must not wait: nothing enters the cache until it returns"
		if got := (<-reports).Error(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		time.Sleep(2 * time.Minute)
		if len(reports) != 2 {
			t.Errorf("%d reports in two minutes", len(reports))
		}
		close(release)
		time.Sleep(10 * time.Minute)
		if len(reports) != 2 {
			t.Errorf("%d reports after its return", len(reports))
		}
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run returned %v", err)
		}
		time.Sleep(time.Hour)
	})
}

// A report that takes long holds nothing up but the end of Run.
func TestSlowReportOfIndexFunction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		must1(fake.Create(server, newWidget("a", "w", "n")))(t)
		reports, told := make(chan error, 1), false
		inf := newInformer(t, source(t, server), informer.Options[*widget]{OnError: func(err error) {
			reports <- err
			time.Sleep(time.Minute)
			told = true
		}})
		release := make(chan struct{})
		informer.AddIndex(inf, index.By("hangs", func(w *widget) string { <-release; return w.Name }))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- inf.Run(ctx) }()
		<-reports
		close(release)
		if err := inf.WaitForSync(t.Context()); err != nil {
			t.Error(err)
		}
		began := time.Now()
		cancel()
		if err := <-ended; err != nil || !told || time.Since(began) != time.Minute {
			t.Errorf("Run returned %v after %v, and the report has ended: %t", err, time.Since(began), told)
		}
	})
}

// A cache whose function of an index does not return says so in the error of a wait, which comes all the same. This is in
// real time, because no time passes in a bubble while a goroutine waits for a lock.
func TestWaitForCacheWithStuckIndex(t *testing.T) {
	server := newServer(t)
	must1(fake.Create(server, newWidget("a", "w", "n")))(t)
	inf := newInformer(t, source(t, server), informer.Options[*widget]{})
	release, called := make(chan struct{}), make(chan struct{}, 1)
	informer.AddIndex(inf, index.By("hangs", func(w *widget) string {
		called <- struct{}{}
		<-release
		return w.Name
	}))
	running, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- inf.Run(running) }()
	<-called
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var unsynced *informer.UnsyncedError
	if err := inf.WaitForSync(ctx); !errors.As(err, &unsynced) || !strings.Contains(unsynced.Why, "the function of an index may not return") {
		t.Errorf("WaitForSync returned %v", err)
	}
	close(release)
	stop()
	if err := <-ended; err != nil {
		t.Errorf("Run returned %v", err)
	}
}
