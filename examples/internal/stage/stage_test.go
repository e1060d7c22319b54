package stage_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/examples/internal/stage"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/kubernetes/core"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// steps is a program that makes pods one after the other, whatever their errors, until its context is done.
type steps struct{ lives, made, failed, late int }

func (p *steps) run(ctx context.Context, server client.Connection) error {
	p.lives++
	pods, err := client.New(server, core.Pods, client.Options{Namespace: "a"})
	for ; err == nil && ctx.Err() == nil; time.Sleep(time.Second) {
		pod := fake.Object(&corev1.Pod{}, "a", fmt.Sprint(p.made+p.failed))
		if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err == nil {
			p.made++
			continue
		}
		p.failed++
		if _, err := pods.Create(context.Background(), fake.Object(&corev1.Pod{}, "a", "late"), metav1.CreateOptions{}); err == nil {
			p.late++
		}
	}
	return err
}

// A program that crashed starts again. Of the writes at which it crashed, the server has some and some not. A
// process that is dead writes nothing more.
func TestCrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &steps{}
		s := stage.New(t, fake.Options{}, p.run, stage.Kind(core.Pods))
		s.BadDay(1)
		s.Server.ClearFaults() // only crashes are left
		time.Sleep(2 * time.Minute)
		s.GoodDay()
		s.Stop()
		pods, err := fake.List[*corev1.Pod](s.Server, fake.Selection{})
		s.Check(err)
		if p.lives < 10 || p.failed != p.lives-1 || p.late > 0 {
			t.Errorf("%d lives, %d writes failed, %d of dead processes", p.lives, p.failed, p.late)
		}
		if unknown := len(pods) - p.made; unknown < 3 || unknown > p.failed-3 {
			t.Errorf("%d pods, of which %d were answered, and %d failed", len(pods), p.made, p.failed)
		}
	})
}
