package informer_test

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/coverage"
	"github.com/kinform/kinform/reflector"
)

// waitForSync returns what WaitForSync returns, or errWaits if it waits.
func waitForSync(inf *informer.Informer[key, *widget]) error {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	returned := make(chan error, 1)
	go func() { returned <- inf.WaitForSync(ctx) }()
	synctest.Wait()
	select {
	case err := <-returned:
		return err
	default:
		cancel(nil)
		<-returned
		return errWaits
	}
}

var errWaits = errors.New("WaitForSync waits")

func TestWaitForSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		broken := faults.Refusal(500, metav1.StatusReasonInternalError, 0)
		if err := server.Inject(faults.Fault{Times: -1, Status: broken}); err != nil {
			t.Fatal(err)
		}
		var heard errorsOf
		inf := newInformer(t, source(t, server), informer.Options[*widget]{OnError: heard.add})
		if err := waitForSync(inf); err != errWaits {
			t.Errorf("before Run WaitForSync returned %v", err)
		}
		stop := run(t, inf)
		ctx, cancel := context.WithCancel(context.Background())
		waited := make(chan error, 2)
		go func() { waited <- inf.WaitForSync(ctx) }()
		synctest.Wait()
		cancel()
		if err := <-waited; !errors.Is(err, context.Canceled) {
			t.Errorf("WaitForSync returned %v, want its context's error", err)
		}
		go func() { waited <- inf.WaitForSync(context.Background()) }()
		synctest.Wait()
		stop()
		if err := <-waited; !errors.Is(err, informer.ErrStopped) {
			t.Errorf("WaitForSync returned %v, want ErrStopped", err)
		}
		failed, ok := find[*reflector.RequestError](&heard)
		if !ok || !errors.Is(failed, broken) {
			t.Errorf("OnError heard %v, want the refused list", heard.all)
		}
	})
}

// A wait that its context ends says since when requests fail and why, if they do.
func TestWaitForSyncInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		if err := server.Inject(faults.Fault{Times: -1, Status: faults.Refusal(503, metav1.StatusReasonServiceUnavailable, 0)}); err != nil {
			t.Fatal(err)
		}
		inf := newInformer(t, source(t, server), informer.Options[*widget]{OnError: ignore})
		wait := func() (unsynced *informer.UnsyncedError) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := inf.WaitForSync(ctx); !errors.As(err, &unsynced) || !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("WaitForSync returned %v", err)
			}
			return unsynced
		}
		const text = "widgets.example.com: the cache is not filled: context deadline exceeded"
		if err := wait(); err.Failing.Err != nil || err.Error() != text+"; nobody has called Run of the informer, the handle or the factory" || !err.NeverRan || len(err.LogValue().Group()) != 4 {
			t.Errorf("before Run WaitForSync returned %v, as log %v", err, err.LogValue())
		}
		began := time.Now()
		stop := run(t, inf)
		defer stop()
		err := wait()
		f := err.Failing
		if err.NeverRan || !f.Since.Equal(began) || !f.Next.After(time.Now()) || !apierrors.IsServiceUnavailable(f.Err) || err.Resource != "widgets.example.com" {
			t.Errorf("failing: %+v", f)
		}
		last := strings.TrimPrefix(f.Err.Error(), "widgets.example.com: ")
		if want := text + "; requests have failed for 1m0s; the last: " + last; err.Error() != want || last == f.Err.Error() {
			t.Errorf("the error reads\n%v, want\n%s", err, want)
		}
		if attrs := err.LogValue().Group(); len(attrs) != 6 || attrs[5].Value.Any() != f.Err {
			t.Errorf("as log %v", attrs)
		}
	})
}

// TestWaitForSyncNamesTheCause: WaitForSync returns a lasting failure at once. A later call
// succeeds when the cause is gone.
func TestWaitForSyncNamesTheCause(t *testing.T) {
	for _, c := range []struct {
		code   int
		reason metav1.StatusReason
		is     func(error) bool
	}{
		{401, metav1.StatusReasonUnauthorized, apierrors.IsUnauthorized},
		{403, metav1.StatusReasonForbidden, apierrors.IsForbidden},
		{404, metav1.StatusReasonNotFound, apierrors.IsNotFound},
		{405, metav1.StatusReasonMethodNotAllowed, apierrors.IsMethodNotSupported},
	} {
		t.Run(string(c.reason), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newServer(t)
				if err := server.Inject(faults.Fault{Times: -1, Status: faults.Refusal(c.code, c.reason, 0)}); err != nil {
					t.Fatal(err)
				}
				inf := newInformer(t, source(t, server), informer.Options[*widget]{OnError: ignore})
				waited := make(chan error, 1)
				go func() { waited <- inf.WaitForSync(t.Context()) }()
				stop := run(t, inf)
				defer stop()
				for n, err := range []error{<-waited, waitForSync(inf)} {
					var cause *informer.NotSyncingError
					var request *reflector.RequestError
					if !errors.As(err, &cause) || !errors.As(err, &request) || !c.is(err) || cause.Resource != "widgets.example.com" {
						t.Errorf("call %d returned %v", n, err)
					}
				}
				server.ClearFaults()
				time.Sleep(time.Minute)
				if err := waitForSync(inf); err != nil {
					t.Errorf("WaitForSync returned %v when all was well", err)
				}
			})
		})
	}
}

// TestSyncedInformerSaysThatItFails: an informer whose custom resource is gone keeps its cache, and
// says since when requests fail, why, and when the next one follows.
func TestSyncedInformerSaysThatItFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		must1(fake.Create(server, newWidget("a", "w", "n")))(t)
		inf := newInformer(t, source(t, server), informer.Options[*widget]{OnError: ignore})
		stop := run(t, inf)
		defer stop()
		synctest.Wait()
		if got := inf.Stats().Failing; got != (reflector.Failing{}) {
			t.Fatalf("all is well, and Failing is %+v", got)
		}
		gone := time.Now()
		if err := server.Inject(faults.Fault{Times: -1, Status: faults.Refusal(404, metav1.StatusReasonNotFound, 0)}); err != nil {
			t.Fatal(err)
		}
		server.DropWatches()
		time.Sleep(time.Hour)
		got := inf.Stats().Failing
		if !got.Since.Equal(gone) || !apierrors.IsNotFound(got.Err) || got.Next.Before(time.Now()) || got.Next.After(time.Now().Add(5*time.Second)) {
			t.Errorf("gone since %v, and Failing is %+v", gone, got)
		}
		if inf.Store().Len() != 1 {
			t.Errorf("%d objects in the cache, want the one that was there", inf.Store().Len())
		}
		server.ClearFaults()
		time.Sleep(time.Minute)
		if got := inf.Stats().Failing; got != (reflector.Failing{}) {
			t.Errorf("back again, and Failing is %+v", got)
		}
	})
}

// TestRefusalIsForgotten: a failure of another kind says that the server lets the list in.
func TestRefusalIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		inject := func(code int, reason metav1.StatusReason) {
			server.ClearFaults()
			if err := server.Inject(faults.Fault{Times: -1, Status: faults.Refusal(code, reason, 0)}); err != nil {
				t.Fatal(err)
			}
		}
		inject(403, metav1.StatusReasonForbidden)
		inf := newInformer(t, source(t, server), informer.Options[*widget]{OnError: ignore})
		stop := run(t, inf)
		defer stop()
		var cause *informer.NotSyncingError
		if err := waitForSync(inf); !errors.As(err, &cause) {
			t.Errorf("WaitForSync returned %v", err)
		}
		inject(503, metav1.StatusReasonServiceUnavailable)
		time.Sleep(time.Minute)
		if err := waitForSync(inf); err != errWaits {
			t.Errorf("WaitForSync returned %v, want it to wait", err)
		}
		inject(404, metav1.StatusReasonNotFound)
		if err := inf.WaitForSync(t.Context()); !errors.As(err, &cause) || !apierrors.IsNotFound(err) {
			t.Errorf("WaitForSync returned %v", err)
		}
	})
}

// listOnly is a source that may not be watched.
type listOnly struct{ *byHand[*widget] }

func (listOnly) Watch(context.Context, metav1.ListOptions) iter.Seq2[reflector.Event[*widget], error] {
	return func(yield func(reflector.Event[*widget], error) bool) {
		yield(reflector.Event[*widget]{}, apierrors.NewForbidden(widgetsResource.GroupResource(), "", nil))
	}
}

// An account may list and not watch. The list is enough to sync, even if the watch is refused before it is in
// the store.
func TestSyncsWithoutWatches(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // so that the refusal comes before the commit
	for n := range 20 {
		synctest.Test(t, func(t *testing.T) {
			src := listOnly{new(byHand[*widget])}
			src.set(listOf("10", at("w", 10)))
			inf := newInformer(t, src, informer.Options[*widget]{OnError: ignore})
			if n%2 == 1 {
				inf = follows(t, informer.NewNamespaces("a"), func(string) (reflector.Source[*widget], error) { return src, nil })
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() { _ = inf.Run(ctx) }()
			if err := inf.WaitForSync(ctx); err != nil {
				t.Error(err)
			}
			if n := inf.Store().Len(); n != 1 {
				t.Errorf("synced with %d objects", n)
			}
			if got := inf.Coverage(key{Namespace: "a", Name: "x"}); got != coverage.Stale {
				t.Errorf("coverage %d, want that of a cache without watches", got)
			}
		})
	}
}
