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
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// polled is a server whose lists have no version, as metrics-server's. An object has the version and
// UID that versions and uids say.
type polled struct {
	breaker        reflector.Breaker
	contents       map[string]string // by name
	changed        map[string]int    // when the contents were set
	changes        int
	versions, uids bool
	sums           bool
}

func (p *polled) set(name, contents string) {
	p.changes++
	p.contents[name], p.changed[name] = contents, p.changes
}

func (*polled) Resource() string { return "things" }

func (p *polled) Breaker() *reflector.Breaker { return &p.breaker }

func (p *polled) List(_ context.Context, _ metav1.ListOptions, yield func(reflector.Event[*widget], error) bool) (metav1.ListMeta, error) {
	for name, contents := range p.contents {
		w := newWidget("n", name, contents)
		if p.versions {
			w.ResourceVersion = fmt.Sprint(p.changed[name])
		}
		if p.uids {
			w.UID = types.UID(name)
		}
		ev := reflector.Event[*widget]{Type: reflector.Added, ResourceVersion: w.ResourceVersion, Object: w}
		if p.sums {
			ev.Sum = uint64(len(contents)) + 1 // the contents of one object differ in length
		}
		if !yield(ev, nil) {
			return metav1.ListMeta{}, reflector.ErrListStopped
		}
	}
	return metav1.ListMeta{}, nil
}

func (p *polled) Watch(context.Context, metav1.ListOptions) iter.Seq2[reflector.Event[*widget], error] {
	return func(yield func(reflector.Event[*widget], error) bool) {
		yield(reflector.Event[*widget]{}, errors.ErrUnsupported)
	}
}

// TestPolled: of lists without a version, handlers get the changed objects, and no others. A handler
// that wants unchanged objects gets all, as from any list.
func TestPolled(t *testing.T) {
	for _, c := range []struct{ versions, uids, sums bool }{{}, {sums: true}, {versions: true, uids: true}, {versions: true, uids: true, sums: true}, {uids: true}, {versions: true}} {
		for _, namespaced := range []bool{false, true} {
			name := fmt.Sprintf("versions %t, uids %t, sums %t, namespaced %t", c.versions, c.uids, c.sums, namespaced)
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := &polled{versions: c.versions, uids: c.uids, sums: c.sums}
					polls(t, p, p, namespaced, store.ObjectKey[*widget], func(w *widget) string { return w.Spec.Node })
				})
			})
			t.Run(name+", projection", func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := &polled{versions: c.versions, uids: c.uids, sums: c.sums}
					src := reflector.Map(p, func(w *widget) (projection, error) {
						return &projected{Key: key{Namespace: w.Namespace, Name: w.Name}, Text: w.Spec.Node}, nil
					})
					polls(t, p, src, namespaced, projection.key, projection.text)
				})
			})
		}
	}
}

func polls[T any](t *testing.T, p *polled, src reflector.Source[T], namespaced bool, keyOf store.KeyFunc[key, T], contents func(T) string) {
	p.contents, p.changed = map[string]string{}, map[string]int{}
	for n := range 20 {
		p.set(fmt.Sprint("w", n), "")
	}
	warned := func(err error) { t.Error(err) }
	var inf *informer.Informer[key, T]
	if namespaced {
		inf = must1(informer.NewNamespaced("widgets", informer.NewNamespaces("n"), func(string) (reflector.Source[T], error) { return src, nil }, keyOf, informer.Options[T]{OnError: warned}))(t)
	} else {
		inf = must1(informer.New(src, keyOf, informer.Options[T]{OnError: warned}))(t)
	}
	var got []string
	must1(inf.AddHandler(informer.HandlerFunc[key, T](func(ev informer.Event[key, T]) {
		if !ev.Initial {
			got = append(got, fmt.Sprintf("%v %s %q", ev.Type, ev.Key.Name, contents(ev.Object)))
		}
	}), informer.HandlerOptions[T]{}))(t)
	stop := run(t, inf)
	defer stop()
	poll := func(note string, want ...string) {
		t.Helper()
		lists := inf.Stats().Lists
		time.Sleep(15 * time.Second)
		synctest.Wait()
		if slices.Sort(got); !slices.Equal(got, want) || inf.Stats().Lists != lists+1 {
			t.Errorf("%s: handlers got %q from %d lists, want %q", note, got, inf.Stats().Lists-lists, want)
		}
		got = nil
	}
	poll("unchanged")
	poll("unchanged")
	p.set("w3", "x")
	poll("one change", `Updated w3 "x"`)
	poll("unchanged again")
	for range 3 { // is no sign of servers that disagree
		p.set("w3", "")
		poll("back", `Updated w3 ""`)
		p.set("w3", "x")
		poll("and forth", `Updated w3 "x"`)
	}
	delete(p.contents, "w0")
	p.set("new", "")
	poll("one comes, one goes", `Added new ""`, `Deleted w0 ""`)
	var all []string
	for n := range 19 {
		name := fmt.Sprint("w", n+1)
		p.set(name, "long")
		all = append(all, fmt.Sprintf("Updated %s %q", name, "long"))
	}
	slices.Sort(all)
	poll("most change", all...)
	poll("unchanged at last")
	synced := 0
	must1(inf.AddHandler(informer.HandlerFunc[key, T](func(ev informer.Event[key, T]) {
		if ev.Sync {
			synced++
		}
	}), informer.HandlerOptions[T]{Unchanged: true}))(t)
	poll("for a handler that wants all")
	if synced != 20 {
		t.Errorf("a handler that wants all got %d unchanged objects, want 20", synced)
	}
}
