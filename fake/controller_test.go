package fake_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/store"
)

// runController is a unit test of a whole controller: a server with n pods, an informer,
// a queue, and a reconcile function that makes each pod ready by the client.
func runController(t testing.TB, n int) {
	s := fake.New(fake.Options{})
	check(t, fake.Register(s, kind.Of[*pod](v1, "pods").WithSubresources("status"), fake.Rules{}))
	pods := must(fake.NewClient[*pod](s, fake.Selection{}))(t)
	inf := must(informer.New(pods, store.ObjectKey, informer.Options[*pod]{}))(t)
	c := controller.New(controller.Options[types.NamespacedName]{})
	check(t, controller.For(c, inf))
	for i := range n {
		must(fake.Create(s, newPod("a", fmt.Sprintf("pod-%d", i))))(t)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ready := 0 // one worker reconciles
	err := c.Run(ctx, func(ctx context.Context, key types.NamespacedName) error {
		p, ok := inf.Store().Get(key)
		if !ok {
			return errors.New("not in the cache")
		}
		if p.Status.Phase != "" {
			return nil
		}
		p = p.DeepCopyObject().(*pod)
		p.Status.Phase = "Ready"
		if _, err := pods.UpdateStatus(ctx, p, metav1.UpdateOptions{}); err != nil {
			return err
		}
		if ready++; ready == n {
			cancel()
		}
		return nil
	})
	check(t, err)
	for _, p := range must(fake.List[*pod](s, fake.Selection{ReadOnly: true}))(t) {
		if p.Status.Phase != "Ready" {
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
