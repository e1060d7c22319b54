package faketest

import (
	"fmt"
	"iter"
	"reflect"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake"
)

// maxDifferent is the number of differing objects that Diff shows; it counts the rest.
const maxDifferent = 10

// Diff compares a cache with the server. It returns a readable difference between the cached
// objects and the objects of sel on the server, or "" if they are equal object for object. Lines
// with - are the server's, lines with + the cache's. An empty list or map equals an absent one,
// because most look alike on the wire. opts are further options for [cmp.Diff]. Errors: the errors
// of [fake.List].
func Diff[T metav1.Object](at fake.Target, sel fake.Selection, cached iter.Seq[T], opts ...cmp.Option) (string, error) {
	sel.ReadOnly = true
	want, err := fake.List[T](at, sel)
	if err != nil {
		return "", err
	}
	got := map[types.NamespacedName]T{}
	var out differences
	for obj := range cached {
		if absent(obj) {
			out.add("+ nil object\n")
			continue
		}
		key := types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
		if _, twice := got[key]; twice {
			out.add(fmt.Sprintf("+ %s: cached twice\n", key))
		}
		got[key] = obj
	}
	for _, w := range want {
		key := types.NamespacedName{Namespace: w.GetNamespace(), Name: w.GetName()}
		g, ok := got[key]
		delete(got, key)
		switch {
		case !ok:
			out.add(fmt.Sprintf("- %s: not cached, resourceVersion %s on the server\n", key, w.GetResourceVersion()))
		case len(opts) > 0 || !reflect.DeepEqual(w, g):
			out.add(compare(key, w, g, opts))
		}
	}
	for key, g := range got {
		out.add(fmt.Sprintf("+ %s: cached at resourceVersion %s, not on the server\n", key, g.GetResourceVersion()))
	}
	return out.String(), nil
}

// compare shows how got differs from want. Unexported fields count as well.
func compare[T metav1.Object](key types.NamespacedName, want, got T, opts []cmp.Option) string {
	all := cmp.Exporter(func(reflect.Type) bool { return true })
	d := cmp.Diff(want, got, append([]cmp.Option{all, cmpopts.EquateEmpty()}, opts...)...)
	if d == "" {
		return ""
	}
	return fmt.Sprintf("%s:\n%s", key, d)
}

type differences struct {
	text  strings.Builder
	shown int
	count int
}

func (d *differences) add(text string) {
	if text == "" {
		return
	}
	if d.count++; d.shown < maxDifferent {
		d.shown++
		d.text.WriteString(text)
	}
}

func (d *differences) String() string {
	if more := d.count - d.shown; more > 0 {
		return fmt.Sprintf("%sand %d more\n", d.text.String(), more)
	}
	return d.text.String()
}
