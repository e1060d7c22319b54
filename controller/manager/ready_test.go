package manager_test

import (
	"context"
	"fmt"
	"iter"
	"path"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// answers is a source that answers each request with an error or, if that is nil, with nothing.
type answers struct {
	name string
	err  error
}

func (s answers) Resource() string { return s.name }

func (s answers) List(ctx context.Context, _ metav1.ListOptions, _ func(reflector.Event[*gadget], error) bool) (metav1.ListMeta, error) {
	if s.err == nil {
		<-ctx.Done()
		return metav1.ListMeta{}, ctx.Err()
	}
	return metav1.ListMeta{}, s.err
}

func (s answers) Watch(ctx context.Context, _ metav1.ListOptions) iter.Seq2[reflector.Event[*gadget], error] {
	return func(yield func(reflector.Event[*gadget], error) bool) {
		if s.err == nil {
			<-ctx.Done()
			return
		}
		yield(reflector.Event[*gadget]{}, s.err)
	}
}

// /readyz names each cache that is not filled, and says why.
func TestReadyzSaysWhy(t *testing.T) {
	gadgets := schema.GroupResource{Resource: "gadgets"}
	denied := func(namespace string) error {
		return apierrors.NewForbidden(gadgets, "", fmt.Errorf("User %q cannot list resource %q in API group %q in the namespace %q", "bot", "gadgets", "", namespace))
	}
	for name, test := range map[string]struct {
		source answers
		after  time.Duration
		want   string // a pattern
	}{
		"has just begun": {answers{"jobs.batch", nil}, 3 * time.Second, "500 jobs.batch: not filled: the list has taken 3s so far, and has 0 objects"},
		"silent list":    {answers{"jobs.batch", nil}, 40 * time.Second, "500 jobs.batch: not filled: the list is slow: nothing has come for 40s, after 0 objects"},
		"forbidden": {answers{"secrets in namespace prod", denied("prod")}, time.Minute,
			`500 secrets: forbidden: cannot list in prod: gadgets is forbidden: User "bot" cannot list resource "gadgets" in API group "" in the namespace "prod"`},
		"forbidden everywhere": {answers{"secrets", apierrors.NewForbidden(gadgets, "", nil)}, time.Minute, "500 secrets: forbidden: cannot list: gadgets is forbidden: <nil>"},
		"unauthorized":         {answers{"secrets", apierrors.NewUnauthorized("who are you?")}, time.Minute, "500 secrets: unauthorized: cannot list: who are you?"},
		"not installed": {answers{"widgets.example.com", apierrors.NewNotFound(gadgets, "")}, time.Minute,
			`500 widgets.example.com: not filled: list at resourceVersion "0" failed, trying again in *: gadgets "" not found (is the CustomResourceDefinition installed, and is its plural "widgets"? In a test, call fake.Register)`},
		"busy": {answers{"pods", apierrors.NewInternalError(fmt.Errorf("etcd"))}, time.Minute,
			`500 pods: not filled: requests have failed for 1m0s; the last: list at resourceVersion "*" failed, trying again in *: Internal error occurred: etcd`},
		"hostile": {answers{"pods", apierrors.NewForbidden(gadgets, "", fmt.Errorf("\nok: \x1b[31m\u202e%s", strings.Repeat("x", 5000)))}, time.Minute,
			`500 pods: forbidden: cannot list: gadgets is forbidden: \\nok: \\x1b\[31m\\u202exxx*xxx…`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inf, err := informer.New(test.source, store.ObjectKey, informer.Options[*gadget]{OnError: func(error) {}})
				if err != nil {
					t.Fatal(err)
				}
				m := manager.New(manager.Options{})
				m.AddCaches(inf)
				end := begin(t, m)
				time.Sleep(test.after)
				synctest.Wait()
				if got := get(m.Readyz()); !matches(test.want, got) || len(got) > 1500 {
					t.Errorf("got  %s\nwant %s", got, test.want)
				}
				if err := end(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// matches is path.Match for text with slashes.
func matches(pattern, text string) bool {
	plain := strings.NewReplacer("/", "|").Replace
	ok, err := path.Match(plain(pattern), plain(text))
	return ok && err == nil
}

// A cache over many namespaces has one line for each that is refused, up to a number.
func TestReadyzOfNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := informer.NewNamespaces()
		for n := range 25 {
			if err := set.Add(fmt.Sprintf("ns%02d", n)); err != nil {
				t.Fatal(err)
			}
		}
		inf, err := informer.NewNamespaced("secrets", set, func(namespace string) (reflector.Source[*gadget], error) {
			return answers{"secrets in namespace " + namespace, apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", nil)}, nil
		}, store.ObjectKey, informer.Options[*gadget]{OnError: func(error) {}})
		if err != nil {
			t.Fatal(err)
		}
		m := manager.New(manager.Options{})
		m.AddCaches(inf)
		end := begin(t, m)
		time.Sleep(time.Second)
		synctest.Wait()
		lines := strings.Split(get(m.Readyz()), "\n")
		if len(lines) != 21 || lines[0] != "500 secrets: forbidden: cannot list in ns00: secrets is forbidden: <nil>" ||
			lines[19] != "secrets: forbidden: cannot list in ns19: secrets is forbidden: <nil>" || lines[20] != "secrets: and 5 more namespaces" {
			t.Errorf("got\n%s", strings.Join(lines, "\n"))
		}
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}
