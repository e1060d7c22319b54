package informer_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/store"
)

// names returns the sorted names of objs, namespace and all.
func names(objs []*widget) string {
	var all []string
	for _, w := range objs {
		all = append(all, w.Namespace+"/"+w.Name)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func TestLister(t *testing.T) {
	for _, indexed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			server := newServer(t)
			create := func(namespace, name, app string) *widget {
				w := newWidget(namespace, name, "n")
				w.Labels = map[string]string{"app": app}
				return must1(fake.Create(server, w))(t)
			}
			create("a", "one", "web")
			create("a", "two", "db")
			create("b", "one", "web")
			opts := informer.Options[*widget]{}
			if indexed {
				opts.Indexes = index.Of[*widget](index.Namespace[*widget](), index.Labels[*widget]("labels"))
			}
			inf := newInformer(t, source(t, server), opts)
			stop := run(t, inf)
			defer stop()
			all := informer.NewLister(inf)
			web := labels.SelectorFromSet(labels.Set{"app": "web"})
			webTwice := labels.NewSelector().Add(*must1(labels.NewRequirement("app", selection.In, []string{"web", "web"}))(t))
			check := func(when, namespace string, selector labels.Selector, want string) {
				t.Helper()
				l := all.In(namespace)
				if got := names(l.List(selector)); got != want {
					t.Errorf("%s: listed %q, want %q", when, got, want)
				}
				if got := names(slices.Collect(l.All(selector))); got != want {
					t.Errorf("%s: iterated over %q, want %q", when, got, want)
				}
				for range l.All(selector) {
					break
				}
			}
			check("all", "", nil, "a/one a/two b/one")
			check("all", "", labels.Everything(), "a/one a/two b/one")
			check("nothing", "", labels.Nothing(), "")
			check("a namespace", "a", nil, "a/one a/two")
			check("a label", "", web, "a/one b/one")
			check("a label twice", "", webTwice, "a/one b/one")
			check("both", "b", web, "b/one")
			check("neither", "c", web, "")

			if w, err := all.Get(key{Namespace: "a", Name: "two"}); err != nil || w.Labels["app"] != "db" {
				t.Errorf("Get returned %v, %v", w, err)
			}
			for _, l := range []informer.Lister[key, *widget]{all.In("b"), all} {
				k := key{Namespace: "a", Name: "none"}
				if l == all.In("b") {
					k.Name = "two"
				}
				_, err := l.Get(k)
				if !apierrors.IsNotFound(err) || err.Error() != `widgets.example.com "`+k.Name+`" not found` {
					t.Errorf("Get returned %v", err)
				}
			}

			// With writes that are ahead of the store.
			ahead := newWidget("a", "three", "n")
			ahead.Labels, ahead.ResourceVersion = map[string]string{"app": "web"}, "1000"
			moved := newWidget("a", "two", "n")
			moved.Labels, moved.ResourceVersion = map[string]string{"app": "web"}, "1001"
			if err := inf.RecordWrite(ahead, ""); err != nil {
				t.Error(err)
			}
			if err := inf.RecordWrite(moved, ""); err != nil {
				t.Error(err)
			}
			if err := inf.RecordGone(key{Namespace: "b", Name: "one"}, "", "1002"); err != nil {
				t.Error(err)
			}
			check("written", "", nil, "a/one a/three a/two")
			check("written, a label", "", web, "a/one a/three a/two")
			check("written, a label that went", "", labels.SelectorFromSet(labels.Set{"app": "db"}), "")
			check("written, a namespace", "b", nil, "")
		})
	}
}

// indexes returns the names of the indexes of namespaces in an informer.
func indexes(inf *informer.Informer[key, *widget]) (all []string) {
	for _, x := range inf.Store().Indexer().Stats() {
		if strings.HasPrefix(x.Name, "namespace") {
			all = append(all, x.Name)
		}
	}
	return all
}

// The first list of one namespace in a large cache adds an index, unless there is one. Programs may
// add theirs later.
func TestListAddsNamespaceIndex(t *testing.T) {
	for _, indexed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			server := newServer(t)
			opts := informer.Options[*widget]{}
			if indexed {
				opts.Indexes = index.Of[*widget](index.Namespace[*widget]())
			}
			inf := newInformer(t, source(t, server), opts)
			all, before := informer.NewLister(inf), len(opts.Indexes)
			for n := range 1023 {
				must1(fake.Create(server, newWidget([]string{"a", "b", "c"}[n%3], fmt.Sprint("w", n), "n")))(t)
			}
			stop := run(t, inf)
			defer stop()
			synctest.Wait()
			check := func(when string, want int) {
				t.Helper()
				if got := len(indexes(inf)); got != want {
					t.Errorf("%s: the indexes are %q, want %d", when, indexes(inf), want)
				}
				for _, namespace := range []string{"a", "d"} {
					got, want := all.In(namespace).List(nil), index.Select(noIndexes(t, inf), namespace, nil)
					if names(got) != names(want) {
						t.Errorf("%s: listed %d objects in %s, want %d", when, len(got), namespace, len(want))
					}
				}
			}
			check("small", before)
			check("small and listed", before)
			must1(fake.Create(server, newWidget("a", "last", "n")))(t)
			synctest.Wait()
			all.List(nil)
			check("large", before)
			check("large and listed", 1)
			if err := inf.AddIndexes(index.Namespace[*widget]()); (err != nil) != indexed {
				t.Errorf("AddIndexes: %v", err)
			}
			must1(fake.Create(server, newWidget("d", "new", "n")))(t)
			synctest.Wait()
			check("with the program's own", 2-before)
		})
	}
}

// noIndexes returns a store with the objects of inf, and without indexes.
func noIndexes(t *testing.T, inf *informer.Informer[key, *widget]) *store.Store[key, *widget] {
	s := must1(store.New(store.ObjectKey, store.Options[*widget]{}))(t)
	if err := s.Replace(inf.List(), ""); err != nil {
		t.Fatal(err)
	}
	return s
}

// Lists of namespaces are complete while one of them adds the index and objects come.
func TestListAddsNamespaceIndexConcurrently(t *testing.T) {
	server := newServer(t)
	for n := range 2000 {
		must1(fake.Create(server, newWidget([]string{"a", "b"}[n%2], fmt.Sprint("w", n), "n")))(t)
	}
	inf := newInformer(t, source(t, server), informer.Options[*widget]{})
	ctx, cancel := context.WithCancel(t.Context())
	var running, readers sync.WaitGroup
	running.Go(func() { _ = inf.Run(ctx) })
	defer running.Wait()
	defer cancel()
	if err := inf.WaitForSync(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		readers.Go(func() {
			for last := 1000; last < 1100; {
				n := len(informer.NewLister(inf).In("a").List(nil))
				if n < last || n > 1100 {
					t.Errorf("%d objects after %d", n, last)
					return
				}
				last = n
				runtime.Gosched()
			}
		})
	}
	for n := range 100 {
		must1(fake.Create(server, newWidget("a", fmt.Sprint("x", n), "n")))(t)
	}
	readers.Wait()
	if got := indexes(inf); len(got) != 1 {
		t.Errorf("the indexes are %q", got)
	}
}
