package controller_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/store"
)

// runController is a unit test of a whole controller: a server with n sites, an informer,
// a queue, and a reconcile function that makes each site ready by the client.
func runController(t testing.TB, n int) {
	s := fake.New(fake.Options{})
	if err := fake.Register(s, siteKinds, fake.Rules{}); err != nil {
		t.Fatal(err)
	}
	sites := clientOf(t, s, siteKinds)
	inf := must(informer.New(sites, store.ObjectKey, informer.Options[*site]{}))(t)
	c, runC := delayed[key]("")
	controller.For(c, inf)
	for i := range n {
		must(fake.Create(s, newSite(fmt.Sprintf("site-%d", i))))(t)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ready := 0 // one worker reconciles
	err := runC(ctx, func(ctx context.Context, key key) error {
		p, ok := inf.Store().Get(key)
		if !ok {
			return errors.New("not in the cache")
		}
		if p.Status.Ready != 0 {
			return nil
		}
		p = p.DeepCopy()
		p.Status.Ready = 1
		if _, err := sites.UpdateStatus(ctx, p, metav1.UpdateOptions{}); err != nil {
			return err
		}
		if ready++; ready == n {
			cancel()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range must(fake.List[*site](s, fake.Selection{ReadOnly: true}))(t) {
		if p.Status.Ready != 1 {
			t.Errorf("%s is not ready", p.Name)
		}
	}
}

func TestWholeController(t *testing.T) { runController(t, 100) }

// BenchmarkWholeController is to stay under 5 ms.
func BenchmarkWholeController(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		runController(b, 100)
	}
}
