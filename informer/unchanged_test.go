package informer_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/compare"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// state is an object as a test thinks of it.
type state struct {
	name, uid, rv string
}

// relists is a source whose watch ends with 410 after each list but the last. It makes
// objects by mk.
type relists[T any] struct {
	mk    func(state) T
	lists [][]state
	watch []state // updates after the first list
	at    int
}

func (*relists[T]) Resource() string { return "things" }

func (s *relists[T]) List(_ context.Context, _ metav1.ListOptions, yield func(reflector.Event[T], error) bool) (metav1.ListMeta, error) {
	for _, o := range s.lists[s.at] {
		yield(reflector.Event[T]{Type: reflector.Added, ResourceVersion: o.rv, Object: s.mk(o)}, nil)
	}
	s.at++
	return metav1.ListMeta{ResourceVersion: fmt.Sprint(1000 * s.at)}, nil
}

func (s *relists[T]) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[reflector.Event[T], error] {
	return func(yield func(reflector.Event[T], error) bool) {
		var none reflector.Event[T]
		if opts.SendInitialEvents != nil {
			yield(none, errors.ErrUnsupported)
			return
		}
		if s.at == 1 {
			for _, o := range s.watch {
				yield(reflector.Event[T]{Type: reflector.Modified, ResourceVersion: o.rv, Object: s.mk(o)}, nil)
			}
		}
		if s.at < len(s.lists) {
			yield(none, errGone)
			return
		}
		<-ctx.Done()
	}
}

// relisted runs an informer of T over the lists and returns what its handlers were told of
// after the first list: a plain one, one that wants unchanged objects, and a loop.
func relisted[T any](t *testing.T, mk func(state) T, keyOf store.KeyFunc[key, T], lists [][]state, watch []state) (plain, all, loop []string) {
	src := &relists[T]{mk: mk, lists: lists, watch: watch}
	inf := must1(informer.New(src, keyOf, informer.Options[T]{OnError: ignore, Reflector: reflector.Tuning{TrustVersions: true}}))(t)
	note := func(to *[]string) informer.HandlerFunc[key, T] {
		return func(ev informer.Event[key, T]) {
			if ev.Initial {
				return
			}
			what := fmt.Sprint(ev.Type, " ", ev.Key.Name)
			if ev.Sync {
				what += " sync"
			}
			if ev.Replaced {
				what += " replaced"
			}
			*to = append(*to, what)
		}
	}
	must1(inf.AddHandler(note(&plain), informer.HandlerOptions[T]{}))(t)
	if len(lists) == 2 { // with it, all that a list has goes as far as the store
		must1(inf.AddHandler(note(&all), informer.HandlerOptions[T]{Unchanged: true}))(t)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan bool)
	go func() {
		for ev := range inf.Events(ctx, informer.HandlerOptions[T]{}) {
			note(&loop)(ev)
		}
		ended <- true
	}()
	synctest.Wait()
	go func() {
		if err := inf.Run(ctx); err != nil {
			t.Error(err)
		}
		ended <- true
	}()
	time.Sleep(10 * time.Minute)
	synctest.Wait()
	cancel()
	<-ended
	<-ended
	slices.Sort(plain)
	slices.Sort(all)
	slices.Sort(loop)
	return plain, all, loop
}

func meta(o state) *widget {
	return &widget{ObjectMeta: metav1.ObjectMeta{Name: o.name, UID: types.UID(o.uid), ResourceVersion: o.rv}}
}

// TestUnchangedOfAnyT: after a relist handlers get the changed objects only, for any T. The
// objects' own versions decide, or the versions of the events.
func TestUnchangedOfAnyT(t *testing.T) {
	first := make([]state, 30)
	for n := range first {
		first[n] = state{fmt.Sprint("o", n), fmt.Sprint("u", n), fmt.Sprint(n + 1)}
	}
	second := slices.Clone(first)
	second[3].rv = "1003"                         // changed unseen
	second[4].rv, second[4].uid = "1004", "other" // made anew unseen
	second[5].rv = "1005"                         // seen by the watch
	watch := []state{second[5]}
	type kind struct {
		name string
		uids bool
		run  func(t *testing.T, lists [][]state) (plain, all, loop []string)
	}
	byMeta := func(o any) (key, error) { return key{Name: o.(metav1.Object).GetName()}, nil }
	for _, k := range []kind{
		{"pointer", true, func(t *testing.T, lists [][]state) (plain, all, loop []string) {
			return relisted(t, meta, store.ObjectKey, lists, watch)
		}},
		{"interface", true, func(t *testing.T, lists [][]state) (plain, all, loop []string) {
			return relisted(t, func(o state) any { return meta(o) }, byMeta, lists, watch)
		}},
		{"interface of both", false, func(t *testing.T, lists [][]state) (plain, all, loop []string) {
			mk := func(o state) any {
				if o.name == "o0" || o.name == "o4" {
					return &projected{Key: key{Name: o.name}}
				}
				return meta(o)
			}
			return relisted(t, mk, func(o any) (key, error) {
				if p, ok := o.(projection); ok {
					return p.Key, nil
				}
				return byMeta(o)
			}, lists, watch)
		}},
		{"projection", false, func(t *testing.T, lists [][]state) (plain, all, loop []string) {
			return relisted(t, func(o state) projection { return &projected{Key: key{Name: o.name}} }, projection.key, lists, watch)
		}},
		{"metadata without a version", false, func(t *testing.T, lists [][]state) (plain, all, loop []string) {
			return relisted(t, func(o state) *widget { return meta(state{name: o.name}) }, store.ObjectKey, lists, watch)
		}},
	} {
		for _, lists := range [][][]state{{first, second}, {first, second, second}} {
			t.Run(fmt.Sprint(k.name, " ", len(lists)), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					replaced := "Updated o4"
					if k.uids {
						replaced += " replaced"
					}
					want := []string{"Updated o3", replaced, "Updated o5"}
					plain, all, loop := k.run(t, lists)
					if !slices.Equal(plain, want) || !slices.Equal(loop, want) {
						t.Errorf("told a handler of %q, a loop of %q, want %q", plain, loop, want)
					}
					if len(lists) == 3 {
						return
					}
					for _, o := range first {
						if o.name != "o3" && o.name != "o4" {
							want = append(want, "Updated "+o.name+" sync")
						}
					}
					slices.Sort(want)
					if !slices.Equal(all, want) {
						t.Errorf("told a handler that wants all of %q, want %q", all, want)
					}
				})
			})
		}
	}
}

// TestCompare tells when a list may be compared with the store.
func TestCompare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inf := must1(informer.New(&script{}, store.ObjectKey, informer.Options[*widget]{}))(t)
		if err := informer.Writer(inf).Commit("20", nil); err != nil {
			t.Fatal(err)
		}
		known := informer.Comparer(inf)
		for rv, want := range map[string]bool{"19": false, "20": true, "21": true} {
			if got := known.Omits(rv); got != want {
				t.Errorf("a list at %s is compared with a store at 20: %t", rv, got)
			}
		}
		old := newWidget("a", "one", "")
		old.UID, old.ResourceVersion = "u", "7"
		same := func(listed compare.State) bool { return known.Same(key{Namespace: "a", Name: "one"}, old, listed) }
		if !same(compare.State{UID: "u", ResourceVersion: "7"}) || same(compare.State{UID: "u", ResourceVersion: "8"}) {
			t.Error("versions are not compared")
		}
		if same(compare.State{UID: "other", ResourceVersion: "7"}) {
			t.Error("UIDs are not compared")
		}
		if same(compare.State{}) {
			t.Error("an object that cannot be compared is unchanged")
		}
		reg := must1(inf.AddHandler(informer.HandlerFunc[key, *widget](func(informer.Event[key, *widget]) {}), informer.HandlerOptions[*widget]{Unchanged: true}))(t)
		if known.Omits("21") {
			t.Error("a handler that wants unchanged objects does not get them")
		}
		reg.Remove()
	})
}
