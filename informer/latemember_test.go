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

// Relist implements reflector.Relister: relists ail, too.
func (a *ailing) Relist(_ reflector.Source[*widget], known func(reflector.Identity) bool) reflector.Source[*widget] {
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

// A member that cannot list, for whatever reason, holds the others up for ten seconds only, and
// says so.
func TestLateMember(t *testing.T) {
	for _, way := range []string{"fails", "hangs"} {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newServer(t)
				for _, ns := range []string{"a", "b", "c"} {
					must1(fake.Create(server, newWidget(ns, "w", "n")))(t)
				}
				var errs errorsOf
				u := newUnion(t, informer.Options[*widget]{OnError: errs.add})
				add(t, u, "a", newPart(t, server, fake.Selection{Namespace: "a"}))
				add(t, u, "c", newPart(t, server, fake.Selection{Namespace: "c"}))
				ill := newAiling(newPart(t, server, fake.Selection{Namespace: "b"}), way)
				must1(u.Add("b", ill, ill.covers()))(t)
				stop := run(t, u.AsInformer())
				time.Sleep(9 * time.Second)
				if isClosed(u.Synced()) || u.Store().Len() > 0 {
					t.Error("synced at once")
				}
				time.Sleep(2 * time.Second)
				if !isClosed(u.Synced()) || !slices.Equal(stored(u), []string{"a/w", "c/w"}) {
					t.Fatalf("not synced, the store has %v", stored(u))
				}
				late, ok := find[*informer.LateMemberError](&errs)
				if !ok || late.Member != "b" || !strings.Contains(late.Error(), `member "b" has not listed`) {
					t.Errorf("reported %v", late)
				}
				if fails := way == "fails"; apierrors.IsInternalError(late) != fails {
					t.Errorf("the cause is %v", errors.Unwrap(late))
				}
				if b := u.Members()[1]; !b.Late || b.Synced || u.Members()[0].Late {
					t.Errorf("members are %+v", u.Members())
				}
				k := key{Namespace: "b", Name: "w"}
				if !u.Listing(k) || u.Covers(k) || u.Listing(key{Namespace: "a"}) || !u.Covers(key{Namespace: "a"}) {
					t.Error("the objects of the others are not known, or those of the member are")
				}
				checkOwnWritesOf(t, server, u, k)
				ill.way.Store("")
				time.Sleep(5 * time.Minute)
				if got := stored(u); !slices.Equal(got, []string{"a/w", "b/v", "b/w", "c/w"}) || u.Listing(k) || u.Members()[1].Late {
					t.Errorf("after it is well: %v, %+v", got, u.Members()[1])
				}
				stop()
			})
		})
	}
}

// checkOwnWritesOf makes sure that reads have writes to a member that has not listed.
func checkOwnWritesOf(t *testing.T, server *fake.Server, u *informer.Union[key, *widget], k key) {
	t.Helper()
	v := must1(fake.Create(server, newWidget(k.Namespace, "v", "n")))(t)
	if err := u.RecordWrite(v, ""); err != nil {
		t.Fatal(err)
	}
	other := must1(fake.Create(server, newWidget("a", "later", "n")))(t)
	synctest.Wait()
	server.Bookmark() // the third member is idle
	if err := u.WaitForRV(t.Context(), other.ResourceVersion); err != nil {
		t.Error(err)
	}
	if got, ok := u.Get(key{Namespace: k.Namespace, Name: "v"}); !ok || got != v {
		t.Errorf("got %v, want the write", got)
	}
	must1(fake.Delete[*widget](server, key{Namespace: "a", Name: "later"}))(t)
	synctest.Wait()
}

// A list that takes long but goes on is waited for, and so are all members after an outage of the
// server.
func TestMembersThatAreNotLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		for _, name := range []string{"v", "w", "x"} {
			must1(fake.Create(server, newWidget("b", name, "n")))(t)
		}
		u := newUnion(t, informer.Options[*widget]{OnError: ignore, Reflector: reflector.Tuning{DisableWatchList: true}})
		a, b := newAiling(newPart(t, server, fake.Selection{Namespace: "a"}), "fails"), newAiling(newPart(t, server, fake.Selection{Namespace: "b"}), "fails")
		must1(u.Add("a", a, a.covers()))(t)
		must1(u.Add("b", b, b.covers()))(t)
		stop := run(t, u.AsInformer())
		time.Sleep(10 * time.Minute)
		a.way.Store("")
		b.way.Store("slow")
		<-u.Synced()
		if u.Store().Len() != 3 || u.Members()[1].Late {
			t.Errorf("synced without a list that goes on: %+v", u.Members()[1])
		}
		stop()
	})
}
