package informer_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/coverage"
	"github.com/kinform/kinform/internal/objid"
	"github.com/kinform/kinform/reflector"
)

// ailing is a part whose server does not list, in one of several ways. The zero way is health.
type ailing struct {
	*part
	way *atomic.Value // a string
}

func newAiling(p *part, way string) *ailing {
	a := &ailing{p, new(atomic.Value)}
	a.way.Store(way)
	return a
}

// Relist serves reflectors: relists ail, too.
func (a *ailing) Relist(_ reflector.Source[*widget], known func(objid.Identity) bool) reflector.Source[*widget] {
	return &ailing{a.part.Relist(a.part, known).(*part), a.way}
}

func (a *ailing) List(ctx context.Context, opts metav1.ListOptions, yield func(reflector.Event[*widget], error) bool) (metav1.ListMeta, error) {
	switch a.way.Load() {
	case "":
		return a.part.List(ctx, opts, yield)
	case "fails":
		return metav1.ListMeta{}, apierrors.NewInternalError(errors.New("no key to decrypt"))
	case "slow":
		return a.part.List(ctx, opts, func(ev reflector.Event[*widget], err error) bool {
			time.Sleep(9 * time.Second)
			return yield(ev, err)
		})
	default:
		<-ctx.Done()
		return metav1.ListMeta{}, ctx.Err()
	}
}

func (a *ailing) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[reflector.Event[*widget], error] {
	if way := a.way.Load(); way == "" || way == "slow" {
		return a.part.Watch(ctx, opts)
	}
	return func(yield func(reflector.Event[*widget], error) bool) {
		_, err := a.List(ctx, opts, nil)
		yield(reflector.Event[*widget]{}, err)
	}
}

// A namespace that cannot list, for whatever reason, holds the others up for ten seconds only, and
// says so.
func TestLateNamespace(t *testing.T) {
	for _, way := range []string{"fails", "hangs"} {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newServer(t)
				for _, ns := range []string{"a", "b", "c"} {
					must1(fake.Create(server, newWidget(ns, "w", "n")))(t)
				}
				var errs errorsOf
				u := newPlaces(t, informer.Options[*widget]{OnError: errs.add})
				u.add(t, "a", newPart(t, server, fake.Selection{Namespace: "a"}))
				u.add(t, "c", newPart(t, server, fake.Selection{Namespace: "c"}))
				ill := newAiling(newPart(t, server, fake.Selection{Namespace: "b"}), way)
				u.add(t, "b", ill)
				stop := run(t, u.AsInformer())
				time.Sleep(9 * time.Second)
				if isClosed(u.Synced()) || u.Store().Len() != 2 {
					t.Error("synced at once")
				}
				time.Sleep(2 * time.Second)
				if !isClosed(u.Synced()) || !slices.Equal(u.stored(), []string{"a/w", "c/w"}) {
					t.Fatalf("not synced, the store has %v", u.stored())
				}
				late, ok := find[*informer.LateNamespaceError](&errs)
				if !ok || late.Namespace != "b" || !strings.Contains(late.Error(), `namespace "b" has not listed`) {
					t.Errorf("reported %v", late)
				}
				if fails := way == "fails"; apierrors.IsInternalError(late) != fails {
					t.Errorf("the cause is %v", errors.Unwrap(late))
				}
				if b := u.Stats().Namespaces[1]; !b.Late || b.Synced || u.Stats().Namespaces[0].Late {
					t.Errorf("the namespaces are %+v", u.Stats().Namespaces)
				}
				k := key{Namespace: "b", Name: "w"}
				if u.Coverage(k) != coverage.Listing || u.Coverage(k) == coverage.Covered || u.Coverage(key{Namespace: "a"}) == coverage.Listing || u.Coverage(key{Namespace: "a"}) != coverage.Covered {
					t.Error("the objects of the others are not known, or those of the member are")
				}
				checkOwnWritesOf(t, server, u, k)
				ill.way.Store("")
				time.Sleep(5 * time.Minute)
				if got := u.stored(); !slices.Equal(got, []string{"a/w", "b/v", "b/w", "c/w"}) || u.Coverage(k) == coverage.Listing || u.Stats().Namespaces[1].Late {
					t.Errorf("after it is well: %v, %+v", got, u.Stats().Namespaces[1])
				}
				stop()
			})
		})
	}
}

// Each run waits for a namespace anew, and reports it when it is late again.
func TestLateInEachRun(t *testing.T) {
	inPlaces(t, func(t *testing.T, server *fake.Server, u *places, errs *errorsOf) {
		u.add(t, "a", partIn(t, server, "a"))
		u.add(t, "b", newAiling(partIn(t, server, "b"), "hangs"))
		for n := range 3 {
			stop := run(t, u.Informer)
			time.Sleep(5 * time.Second)
			if u.Stats().Namespaces[1].Late {
				t.Errorf("run %d: late at once", n)
			}
			time.Sleep(time.Minute)
			stop()
			late := 0
			for _, err := range errs.all {
				if errors.As(err, new(*informer.LateNamespaceError)) {
					late++
				}
			}
			if late != n+1 {
				t.Errorf("run %d: late was reported %d times", n, late)
			}
		}
	})
}

// A namespace that joins right before others are found to be late has its own time.
func TestJoinsBeforeOthersAreLate(t *testing.T) {
	inPlaces(t, func(t *testing.T, server *fake.Server, u *places, _ *errorsOf) {
		u.add(t, "a", partIn(t, server, "a"))
		u.add(t, "b", newAiling(partIn(t, server, "b"), "hangs"))
		defer run(t, u.Informer)()
		time.Sleep(9 * time.Second)
		u.add(t, "c", newAiling(partIn(t, server, "c"), "hangs"))
		time.Sleep(2 * time.Second)
		if all := u.Stats().Namespaces; !all[1].Late || all[2].Late {
			t.Errorf("b is late: %t, c: %t", all[1].Late, all[2].Late)
		}
		time.Sleep(10 * time.Second)
		if !u.Stats().Namespaces[2].Late {
			t.Error("c is not late")
		}
	})
}

// checkOwnWritesOf makes sure that reads have writes to a namespace that has not listed.
func checkOwnWritesOf(t *testing.T, server *fake.Server, u *places, k key) {
	t.Helper()
	v := must1(fake.Create(server, newWidget(k.Namespace, "v", "n")))(t)
	if err := u.RecordWrite(v, ""); err != nil {
		t.Fatal(err)
	}
	other := must1(fake.Create(server, newWidget("a", "later", "n")))(t)
	synctest.Wait()
	server.Bookmark() // the third is idle
	if err := u.WaitForRV(t.Context(), other.ResourceVersion); err != nil {
		t.Error(err)
	}
	if got, ok := u.Get(key{Namespace: k.Namespace, Name: "v"}); !ok || got != v {
		t.Errorf("got %v, want the write", got)
	}
	must1(fake.Delete[*widget](server, key{Namespace: "a", Name: "later"}))(t)
	synctest.Wait()
}

// A list that takes long but goes on is waited for, and so are all namespaces after an outage of the
// server.
func TestNamespacesThatAreNotLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		for _, name := range []string{"v", "w", "x"} {
			must1(fake.Create(server, newWidget("b", name, "n")))(t)
		}
		u := newPlaces(t, informer.Options[*widget]{OnError: ignore, Reflector: reflector.Tuning{DisableWatchList: true}})
		a, b := newAiling(newPart(t, server, fake.Selection{Namespace: "a"}), "fails"), newAiling(newPart(t, server, fake.Selection{Namespace: "b"}), "fails")
		u.add(t, "a", a)
		u.add(t, "b", b)
		stop := run(t, u.AsInformer())
		time.Sleep(10 * time.Minute)
		a.way.Store("")
		b.way.Store("slow")
		<-u.Synced()
		if u.Store().Len() != 3 || u.Stats().Namespaces[1].Late {
			t.Errorf("synced without a list that goes on: %+v", u.Stats().Namespaces[1])
		}
		stop()
	})
}
