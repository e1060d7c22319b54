package informer_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
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
			if err := inf.RecordDelete(key{Namespace: "b", Name: "one"}, "1002"); err != nil {
				t.Error(err)
			}
			check("written", "", nil, "a/one a/three a/two")
			check("written, a label", "", web, "a/one a/three a/two")
			check("written, a label that went", "", labels.SelectorFromSet(labels.Set{"app": "db"}), "")
			check("written, a namespace", "b", nil, "")
		})
	}
}
