package informer_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/reflector"
)

// inNamespaces opens the widgets of a namespace.
func inNamespaces(server *fake.Server) func(string) (map[string]reflector.Source[*widget], error) {
	return func(namespace string) (map[string]reflector.Source[*widget], error) {
		source, err := fake.NewSource[*widget](server, fake.Selection{Namespace: namespace})
		return map[string]reflector.Source[*widget]{namespace: source}, err
	}
}

// A set of namespaces has its members in every union that follows it, whether it runs or not.
func TestNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		for _, ns := range []string{"a", "b", "c"} {
			must1(fake.Create(server, newWidget(ns, "w", "n")))(t)
		}
		set := informer.NewNamespaces("b", "a")
		runs, stopped := newUnion(t, informer.Options[*widget]{}), newUnion(t, informer.Options[*widget]{})
		for _, u := range []*informer.Union[key, *widget]{runs, stopped} {
			if err := u.Follow(set, inNamespaces(server), informer.InNamespace); err != nil {
				t.Fatal(err)
			}
		}
		stop := run(t, runs.AsInformer())
		want := func(note string, names ...string) {
			t.Helper()
			synctest.Wait()
			var all []string
			for _, name := range names {
				all = append(all, name+"/w")
			}
			if got := stored(runs); !slices.Equal(got, all) || !slices.Equal(set.Names(), names) {
				t.Errorf("%s: got %v of %v, want %v", note, got, set.Names(), all)
			}
			for _, u := range []*informer.Union[key, *widget]{runs, stopped} {
				if got := u.Members(); len(got) != len(names) {
					t.Errorf("%s: the members are %+v, want %v", note, got, names)
				}
			}
		}
		want("two", "a", "b")
		if err := set.Add("c", "a"); err != nil {
			t.Error(err)
		}
		want("another", "a", "b", "c")
		set.Remove("a", "none")
		want("without one", "b", "c")
		if set.Has("a") || !set.Has("b") || runs.Covers(key{Namespace: "a", Name: "w"}) || !runs.Covers(key{Namespace: "b", Name: "x"}) {
			t.Error("Has or Covers: wrong result")
		}
		if err := set.Add("d", "not/a name", "", "a"); !errors.Is(err, informer.ErrNamespace) || strings.Count(err.Error(), "not the name") != 2 {
			t.Errorf("Add: %v", err)
		}
		synctest.Wait()
		if got := set.Names(); !slices.Equal(got, []string{"a", "b", "c", "d"}) {
			t.Errorf("after a bad name the set is %v", got)
		}
		stop()
	})
}

// A source function that panics leaves no member behind, and the namespace can be added later.
func TestNamespacesPanic(t *testing.T) {
	server := newServer(t)
	bad := true
	moody := func(namespace string) (map[string]reflector.Source[*widget], error) {
		if bad && namespace == "b" {
			panic("moody")
		}
		return inNamespaces(server)(namespace)
	}
	nobody := func(string) func(key) bool { return nil } // nil covers every key
	set := informer.NewNamespaces("a")
	first, second := newUnion(t, informer.Options[*widget]{}), newUnion(t, informer.Options[*widget]{})
	var during []bool
	watching := func(namespace string) (map[string]reflector.Source[*widget], error) {
		if namespace == "b" {
			during = append(during, first.Listing(key{Namespace: "c"}), second.Listing(key{Namespace: "c"}), second.Listing(key{Namespace: "b"}))
		}
		return moody(namespace)
	}
	if err := errors.Join(first.Follow(set, watching, nobody), second.Follow(set, moody, informer.InNamespace)); err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		_ = set.Add("b")
	}()
	if n := len(first.Members()) + len(second.Members()); n != 2 || set.Has("b") || second.Listing(key{Namespace: "b"}) {
		t.Errorf("%d members after the panic; in the set: %t", n, set.Has("b"))
	}
	bad = false
	if err := set.Add("b"); err != nil || len(first.Members()) != 2 || len(second.Members()) != 2 {
		t.Errorf("Add: %v", err)
	}
	if !slices.Equal(during, []bool{true, false, true, true, false, true}) {
		t.Errorf("Listing of c by both, and of b, while b was added: %v", during)
	}
}

// A namespace that one union refuses is in none, and a union that refuses one follows no set.
func TestNamespacesRefused(t *testing.T) {
	server := newServer(t)
	no := errors.New("no")
	picky := func(namespace string) (map[string]reflector.Source[*widget], error) {
		if namespace == "b" {
			return nil, no
		}
		return inNamespaces(server)(namespace)
	}
	set := informer.NewNamespaces("a")
	first, second := newUnion(t, informer.Options[*widget]{}), newUnion(t, informer.Options[*widget]{})
	if err := errors.Join(first.Follow(set, inNamespaces(server), informer.InNamespace), second.Follow(set, picky, nil)); err != nil {
		t.Fatal(err)
	}
	if err := set.Add("b", "c"); !errors.Is(err, no) {
		t.Errorf("Add: %v", err)
	}
	for _, u := range []*informer.Union[key, *widget]{first, second} {
		if all := u.Members(); len(all) != 2 || all[1].Name != "c" {
			t.Errorf("the members are %+v", all)
		}
	}
	third := newUnion(t, informer.Options[*widget]{})
	if err := third.Follow(informer.NewNamespaces("a", "b"), picky, nil); !errors.Is(err, no) || len(third.Members()) != 0 {
		t.Errorf("Follow: %v, and %+v", err, third.Members())
	}
	if err := third.Follow(informer.NewNamespaces("a b"), picky, nil); !errors.Is(err, informer.ErrNamespace) {
		t.Errorf("a bad name: %v", err)
	}
	for _, err := range []error{third.Follow(nil, picky, nil), third.Follow(set, nil, nil)} {
		if !errors.Is(err, reflector.ErrNoSource) || !strings.Contains(err.Error(), "widgets") {
			t.Errorf("nil: %v", err)
		}
	}
	err := first.Follow(informer.NewNamespaces("c"), inNamespaces(server), nil)
	if !errors.Is(err, informer.ErrDuplicate) || !strings.Contains(err.Error(), `widgets: member "c"`) {
		t.Errorf("a member of that name: %v", err)
	}
}

// A namespace may have a source for each of several selectors. They come and go together, or not at
// all.
func TestNamespacesAndSelectors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		for _, ns := range []string{"a", "b"} {
			for _, part := range []string{"x", "y", "z"} {
				must1(fake.Create(server, partOf(ns, part, part)))(t)
			}
		}
		u := newUnion(t, informer.Options[*widget]{})
		set := informer.NewNamespaces("a")
		err := u.Follow(set, func(namespace string) (map[string]reflector.Source[*widget], error) {
			all := map[string]reflector.Source[*widget]{}
			for _, part := range []string{"x", "y"} {
				all[namespace+"/"+part] = must1(fake.NewSource[*widget](server, fake.Selection{Namespace: namespace, LabelSelector: "part=" + part}))(t)
			}
			return all, nil
		}, informer.InNamespace)
		if err != nil {
			t.Fatal(err)
		}
		stop := run(t, u.AsInformer())
		want := func(names ...string) {
			t.Helper()
			synctest.Wait()
			if got := stored(u); !slices.Equal(got, names) || len(u.Members()) != len(names) {
				t.Errorf("got %v and %d members, want %v", got, len(u.Members()), names)
			}
		}
		want("a/x", "a/y")
		add(t, u, "b/y", newPart(t, server, fake.Selection{Namespace: "c"}))
		if err := set.Add("b"); !errors.Is(err, informer.ErrDuplicate) || len(u.Members()) != 3 {
			t.Errorf("Add: %v, %d members", err, len(u.Members()))
		}
		u.Remove("b/y")
		if err := set.Add("b"); err != nil {
			t.Fatal(err)
		}
		want("a/x", "a/y", "b/x", "b/y")
		set.Remove("a")
		want("b/x", "b/y")
		stop()
	})
}

// The set keeps no informer alive that nobody else uses.
func TestNamespacesLetGo(t *testing.T) {
	server := newServer(t)
	var set informer.Namespaces // works without New
	gone := make(chan struct{})
	func() {
		u := newUnion(t, informer.Options[*widget]{})
		if err := errors.Join(u.Follow(&set, inNamespaces(server), informer.InNamespace), set.Add("a")); err != nil || len(u.Members()) != 1 {
			t.Fatal(err)
		}
		runtime.AddCleanup(u.AsInformer(), func(int) { close(gone) }, 0)
	}()
	for !isClosed(gone) {
		runtime.GC()
		runtime.Gosched()
	}
	if err := set.Add("b"); err != nil {
		t.Error(err)
	}
}

// A write to a namespace that is no member any more is not read for ever, and does not bring back
// what was deleted before the store has noticed. When the namespace returns, its first list has all
// writes.
func TestNamespaceReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		set := informer.NewNamespaces("a", "b")
		u := newUnion(t, informer.Options[*widget]{})
		if err := u.Follow(set, inNamespaces(server), informer.InNamespace); err != nil {
			t.Fatal(err)
		}
		stop := run(t, u.AsInformer())
		synctest.Wait()
		k := key{Namespace: "b", Name: "w"}
		for n := range 3 {
			w := newWidget("b", fmt.Sprint("x", n), "n")
			w.ResourceVersion = "1000000"
			if err := u.RecordWrite(w, ""); err != nil {
				t.Fatal(err)
			}
		}
		set.Remove("b")
		synctest.Wait()
		if got, ok := u.Get(key{Namespace: "b", Name: "x0"}); ok {
			t.Errorf("a namespace that is gone has %v", got)
		}
		w := newWidget("b", "w", "n")
		w.ResourceVersion = "1000000"
		if err := u.RecordWrite(w, ""); err != nil {
			t.Fatal(err)
		}
		if got, ok := u.Get(k); ok || u.LostWrites() > 0 {
			t.Errorf("a write to a namespace that is gone: got %v, and %d lost writes", got, u.LostWrites())
		}
		stop()
	})
}
