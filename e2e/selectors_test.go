//go:build e2e

package e2e_test

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/e2e/oracle"
	"github.com/kinform/kinform/examples/website"
	"github.com/kinform/kinform/informer"
)

// testSelectors moves an object between the label selectors of a handle. Its reads follow while the
// watches are held back, and agree with the server afterwards.
func testSelectors(ctx context.Context, t *testing.T, conn client.Connection, _ *oracle.Client) {
	conn, w := through(conn)
	h, err := kinform.Open(conn, website.Websites, controller.OpenOptions[*website.Website]{
		Namespaces: informer.NewNamespaces("default"), Selectors: []string{"part=x", "part in (y,both)", "part in (both,z)"},
	})
	must(t, err)
	work(ctx, t, h.Run)
	must(t, h.WaitForSync(ctx))
	key := types.NamespacedName{Namespace: "default", Name: "moves"}
	site := newWebsite(key.Name, "moves.example.com")
	site.Labels = map[string]string{"part": "x"}
	site, err = h.Create(ctx, site, metav1.CreateOptions{})
	must(t, err)
	for _, part := range []string{"y", "both", "none", "z", "none", "x", "both"} {
		w.hold.Lock()
		next := *site
		next.Labels = map[string]string{"part": part}
		site, err = h.Update(ctx, &next, metav1.UpdateOptions{})
		seen, ok := h.Cached(key)
		n := len(h.List("default", nil))
		w.hold.Unlock()
		must(t, err)
		if want := part != "none"; ok != want || n > 1 || ok && seen.ResourceVersion != site.ResourceVersion {
			t.Errorf("moved to %s at %s: reads have %v of %d, %v", part, site.ResourceVersion, ok, n, seen)
		}
	}
	must(t, h.AsInformer().WaitFor(ctx, key, func(s *website.Website, ok bool) bool { return ok && s.ResourceVersion == site.ResourceVersion }))
	counted := func() bool { // reads have the write before a member does
		all := h.Members()
		return len(all) == 3 && all[0].Objects+all[1].Objects+all[2].Objects > 0
	}
	if err := eventually(ctx, counted); err != nil {
		t.Errorf("the members are %+v", h.Members())
	}
	must(t, h.Delete(ctx, key, metav1.DeleteOptions{}))
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	must(t, h.AsInformer().WaitFor(limited, key, func(_ *website.Website, ok bool) bool { return !ok }))
}
