package informer_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/coverage"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// inNamespaces opens the widgets of a namespace.
func inNamespaces(server *fake.Server) func(string) (reflector.Source[*widget], error) {
	return func(namespace string) (reflector.Source[*widget], error) {
		return fake.NewSource[*widget](server, fake.Selection{Namespace: namespace})
	}
}

// follows returns an informer that follows a set.
func follows(t testing.TB, set *informer.Namespaces, source func(string) (reflector.Source[*widget], error)) *informer.Informer[key, *widget] {
	t.Helper()
	return must1(informer.NewNamespaced("widgets", set, source, store.ObjectKey, informer.Options[*widget]{OnError: ignore}))(t)
}

// namesOf returns the namespaces of an informer.
func namesOf(i *informer.Informer[key, *widget]) (all []string) {
	for _, n := range i.Stats().Namespaces {
		all = append(all, n.Namespace)
	}
	return all
}

// A set of namespaces is the same in every informer that follows it, whether it runs or not.
func TestNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		for _, ns := range []string{"a", "b", "c"} {
			must1(fake.Create(server, newWidget(ns, "w", "n")))(t)
		}
		set := informer.NewNamespaces("b", "a")
		runs, stopped := follows(t, set, inNamespaces(server)), follows(t, set, inNamespaces(server))
		stop := run(t, runs)
		want := func(note string, in ...string) {
			t.Helper()
			synctest.Wait()
			var got []string
			for w := range runs.Store().Values() {
				got = append(got, w.Namespace)
			}
			slices.Sort(got)
			if !slices.Equal(got, in) || !slices.Equal(set.Names(), in) {
				t.Errorf("%s: got objects in %v of %v, want %v", note, got, set.Names(), in)
			}
			for _, i := range []*informer.Informer[key, *widget]{runs, stopped} {
				if got := namesOf(i); !slices.Equal(got, in) {
					t.Errorf("%s: the namespaces are %v, want %v", note, got, in)
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
		if set.Has("a") || !set.Has("b") || runs.Coverage(key{Namespace: "a", Name: "w"}) == coverage.Covered || runs.Coverage(key{Namespace: "b", Name: "x"}) != coverage.Covered {
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

// A source function that panics leaves no namespace behind, which can be added later.
func TestNamespacesPanic(t *testing.T) {
	server := newServer(t)
	bad := true
	moody := func(namespace string) (reflector.Source[*widget], error) {
		if bad && namespace == "b" {
			panic("moody")
		}
		return inNamespaces(server)(namespace)
	}
	set := informer.NewNamespaces("a")
	var first, second *informer.Informer[key, *widget]
	var during []bool
	watching := func(namespace string) (reflector.Source[*widget], error) {
		if namespace == "b" {
			for _, i := range []*informer.Informer[key, *widget]{first, second} {
				during = append(during, i.Coverage(key{Namespace: "b"}) == coverage.Listing, i.Coverage(key{Namespace: "c"}) == coverage.Listing)
			}
		}
		return moody(namespace)
	}
	first, second = follows(t, set, watching), follows(t, set, moody)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		_ = set.Add("b")
	}()
	if len(namesOf(first))+len(namesOf(second)) != 2 || set.Has("b") || second.Coverage(key{Namespace: "b"}) == coverage.Listing {
		t.Errorf("%v and %v after the panic; in the set: %t", namesOf(first), namesOf(second), set.Has("b"))
	}
	bad = false
	if err := set.Add("b"); err != nil || len(namesOf(first)) != 2 || len(namesOf(second)) != 2 {
		t.Errorf("Add: %v", err)
	}
	if !slices.Equal(during, []bool{true, false, true, false, true, false, true, false}) {
		t.Errorf("Listing of b and of c, while b was added: %v", during)
	}
}

// A namespace that one informer refuses is in none, and an informer that refuses one follows no set.
func TestNamespacesRefused(t *testing.T) {
	server := newServer(t)
	no := errors.New("no")
	picky := func(namespace string) (reflector.Source[*widget], error) {
		if namespace == "b" {
			return nil, no
		}
		return inNamespaces(server)(namespace)
	}
	set := informer.NewNamespaces("a")
	first, second := follows(t, set, inNamespaces(server)), follows(t, set, picky)
	if err := set.Add("b", "c"); !errors.Is(err, no) {
		t.Errorf("Add: %v", err)
	}
	for _, i := range []*informer.Informer[key, *widget]{first, second} {
		if got := namesOf(i); !slices.Equal(got, []string{"a", "c"}) {
			t.Errorf("the namespaces are %v", got)
		}
	}
	for name, want := range map[string]error{"b": no, "a b": informer.ErrNamespace} {
		_, err := informer.NewNamespaced("widgets", informer.NewNamespaces("a", name), picky, store.ObjectKey, informer.Options[*widget]{})
		if !errors.Is(err, want) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// A namespace that returns while its objects are being deleted keeps those that the new source has.
func TestNamespaceReturnsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		set := informer.NewNamespaces("a")
		i := follows(t, set, inNamespaces(server))
		stop := run(t, i)
		defer func() { stop() }()
		for n := range 20 {
			must1(fake.Create(server, newWidget("a", fmt.Sprint("w", n), "n")))(t)
			set.Remove("a")
			if n%3 == 0 {
				synctest.Wait()
			}
			if n%5 == 0 {
				stop()
				stop = run(t, i)
			}
			if err := set.Add("a"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Second)
			if i.Store().Len() != n+1 || i.Coverage(key{Namespace: "a"}) != coverage.Covered {
				t.Fatalf("%d objects, want %d; %+v", i.Store().Len(), n+1, i.Stats().Namespaces)
			}
		}
	})
}

// The set keeps no informer alive that nobody else uses.
func TestNamespacesLetGo(t *testing.T) {
	server := newServer(t)
	var set informer.Namespaces // works without New
	gone := make(chan struct{})
	func() {
		i := follows(t, &set, inNamespaces(server))
		if err := set.Add("a"); err != nil || len(namesOf(i)) != 1 {
			t.Fatal(err)
		}
		runtime.AddCleanup(i, func(int) { close(gone) }, 0)
	}()
	for !isClosed(gone) {
		runtime.GC()
		runtime.Gosched()
	}
	if err := set.Add("b"); err != nil {
		t.Error(err)
	}
}

// A write to a namespace that has left the set is not read for ever, and does not bring back
// what was deleted before the store has noticed.
func TestNamespaceLeavesWithWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		set := informer.NewNamespaces("a", "b")
		i := follows(t, set, inNamespaces(server))
		stop := run(t, i)
		k := key{Namespace: "b", Name: "w"}
		for n := range 3 {
			w := newWidget("b", fmt.Sprint("x", n), "n")
			w.ResourceVersion = "1000000"
			must(t, i.RecordWrite(w, ""))
		}
		if n := i.Stats().Writes; n != 3 {
			t.Errorf("%d writes are ahead", n)
		}
		set.Remove("b")
		synctest.Wait()
		if got, ok := i.Get(key{Namespace: "b", Name: "x0"}); ok {
			t.Errorf("a namespace that is gone has %v", got)
		}
		w := newWidget("b", "w", "n")
		w.ResourceVersion = "1000000"
		must(t, i.RecordWrite(w, ""))
		if got, ok := i.Get(k); ok || i.LostWrites() > 0 || i.Stats().Writes > 0 {
			t.Errorf("a write to a namespace that is gone: got %v, and %d lost writes", got, i.LostWrites())
		}
		stop()
	})
}

// A namespace that leaves takes its writes with it: none of them is lost later.
func TestNothingIsLostInNamespaceThatLeft(t *testing.T) {
	withPlaces(t, func(u *places, _, _ *byHand[*widget]) {
		must(t, u.RecordWrite(at("w", 30), ""))
		u.remove("a")
		time.Sleep(5 * time.Minute)
		if n := u.Stats().LostWrites; n != 0 || u.AsInformer().LostWrites() != 0 {
			t.Errorf("%d lost writes", n)
		}
	})
}
