package sim_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/sim"
	"github.com/kinform/kinform/fake/sim/internal/planted"
)

// Some rules have no planted bug. Each program does something to a Config, and breaks one of them.
func TestRules(t *testing.T) {
	for name, c := range map[string]struct {
		do       func(ctx context.Context, configs *client.Resource[*planted.Config], config *planted.Config)
		schedule string
	}{
		"overwrites": {func(ctx context.Context, configs *client.Resource[*planted.Config], config *planted.Config) {
			if _, err := configs.Create(ctx, config, metav1.CreateOptions{}); err == nil {
				config.Data = map[string]string{"made": "yes"}
				_, _ = configs.Update(ctx, config, metav1.UpdateOptions{})
			}
		}, "touch update configs.example.com prod/a"},
		"overwrites by a patch": {func(ctx context.Context, configs *client.Resource[*planted.Config], config *planted.Config) {
			if _, err := configs.Create(ctx, config, metav1.CreateOptions{}); err == nil {
				all := []byte(`[{"op":"add","path":"/metadata/annotations","value":{"made":"yes"}}]`)
				_, _ = configs.Patch(ctx, keyA, types.JSONPatchType, all, metav1.PatchOptions{})
			}
		}, "touch patch configs.example.com prod/a"},
		"again": {func(ctx context.Context, configs *client.Resource[*planted.Config], config *planted.Config) {
			_ = configs.Delete(ctx, keyA, metav1.DeleteOptions{})
			_, _ = configs.Create(ctx, config, metav1.CreateOptions{})
		}, ""},
		"unchanged": {func(ctx context.Context, configs *client.Resource[*planted.Config], config *planted.Config) {
			config, err := configs.Create(ctx, config, metav1.CreateOptions{})
			for range 2 {
				if err == nil {
					config, err = configs.Update(ctx, config, metav1.UpdateOptions{})
				}
			}
		}, ""},
		"refused": {func(ctx context.Context, configs *client.Resource[*planted.Config], config *planted.Config) {
			_, _ = configs.Create(ctx, config, metav1.CreateOptions{})
			_, _ = configs.Patch(ctx, keyA, types.MergePatchType, []byte(`{"metadata":{"labels":{"-":"no label"}}}`), metav1.PatchOptions{})
		}, ""},
		"panics": {func(ctx context.Context, configs *client.Resource[*planted.Config], config *planted.Config) {
			defer func() {
				if p := recover(); p != nil {
					slog.Warn("I go on", "error", fmt.Errorf("panic: %v", p))
				}
			}()
			if config, err := configs.Create(ctx, config, metav1.CreateOptions{}); apierrors.IsInternalError(err) {
				config.Data["made"] = "yes"
			}
		}, "refuse create configs.example.com prod/a code=500"},
	} {
		t.Run(name, func(t *testing.T) {
			rule, _, _ := strings.Cut(name, " ")
			got := sim.Again(t, func() sim.Program {
				p := making(nil)()
				p.Server = fake.New(fake.Options{})
				if err := fake.Register(p.Server, planted.Configs, fake.Rules{BlindUpdates: true}); err != nil {
					t.Error(err)
				}
				p.Run = func(ctx context.Context, to client.Connection) error {
					configs, err := client.New(to, planted.Configs, client.Options{})
					if err == nil {
						c.do(ctx, configs, fake.Object(&planted.Config{}, "prod", "a"))
						err = idle(ctx, to)
					}
					return err
				}
				return p
			}, c.schedule)
			if !strings.Contains(got, `rule "`+rule+`" does not hold`) {
				t.Errorf("got %q", got)
			}
		})
	}
}

// keyA is the key of the Config that programs of these tests make.
var keyA = types.NamespacedName{Namespace: "prod", Name: "a"}

// A controller that recovers a panic of its reconcile, and tries again, has a bug.
func TestFindsRecoveredPanics(t *testing.T) {
	found := sim.Search(t, func() sim.Program {
		p := planted.Tickets()
		p.Run = func(ctx context.Context, to client.Connection) error {
			shops, configs := kinform.Open(to, planted.Shops), kinform.Open(to, planted.Configs)
			c := controller.New("configs", func(ctx context.Context, key kinform.Key) error {
				if _, there := configs.Cached(key); !there {
					made, err := configs.Create(ctx, fake.Object(&planted.Config{}, key.Namespace, key.Name), metav1.CreateOptions{})
					if err != nil && !apierrors.IsAlreadyExists(err) {
						return fmt.Errorf("config %s: %w", made.Name, err) // there is none
					}
				}
				return nil
			})
			controller.For(c, shops)
			controller.Owns(c, shops, configs)
			return manager.Run(ctx, c)
		}
		p.Keeps = []string{"configs.example.com"}
		p.Users = func(w *sim.World) error {
			_, err := fake.Create(w.Server, fake.Object(&planted.Shop{}, "prod", "shop"))
			return err
		}
		return p
	}, 50)
	if found == nil || found.Rule != "panics" || strings.Count(found.Script, "\n") != 1 || !strings.Contains(found.Text, "nil pointer dereference") {
		t.Errorf("found %+v", found)
	}
}

// No rule is broken by programs that do what looks like a bug.
func TestNoRuleBroken(t *testing.T) {
	for name, c := range map[string]struct {
		do       func(ctx context.Context, configs *client.Resource[*planted.Config]) error
		schedule string
	}{
		"an empty patch": {func(ctx context.Context, configs *client.Resource[*planted.Config]) error {
			_, err := configs.Patch(ctx, keyA, types.MergePatchType, []byte("{}"), metav1.PatchOptions{})
			return err
		}, ""},
		"one update is refused, and one is not": {func(ctx context.Context, configs *client.Resource[*planted.Config]) error {
			bad, good := []byte(`{"metadata":{"labels":{"-":"0"}}}`), []byte(`{"metadata":{"labels":{"a":"0"}}}`)
			_, _ = configs.Patch(ctx, keyA, types.MergePatchType, bad, metav1.PatchOptions{})
			if a, err := configs.Get(ctx, keyA, metav1.GetOptions{}); err != nil || a.Labels != nil {
				return err
			}
			_, _ = configs.Patch(ctx, keyA, types.MergePatchType, good, metav1.PatchOptions{})
			return nil
		}, ""},
		"annotations are copied": {func(ctx context.Context, configs *client.Resource[*planted.Config]) error {
			_, _ = configs.Patch(ctx, keyA, types.MergePatchType, []byte(`{"data":{"made":"yes"}}`), metav1.PatchOptions{})
			a, err := configs.Get(ctx, keyA, metav1.GetOptions{})
			if err == nil {
				a.Data = a.Annotations
				_, err = configs.Update(ctx, a, metav1.UpdateOptions{})
			}
			return err
		}, "touch patch configs.example.com prod/a"},
		"a process panics that has crashed": {func(ctx context.Context, configs *client.Resource[*planted.Config]) error {
			if _, err := configs.Get(ctx, keyA, metav1.GetOptions{}); err != nil {
				slog.Error("I go on", "error", fmt.Sprint("panic: ", err))
			}
			return nil
		}, "crash before get configs.example.com prod/a"},
	} {
		t.Run(name, func(t *testing.T) {
			got := sim.Again(t, func() sim.Program {
				p := planted.Tickets()
				_, err := fake.Create(p.Server, fake.Object(&planted.Config{}, keyA.Namespace, keyA.Name))
				p.Users = func(*sim.World) error { return err }
				p.Run = func(ctx context.Context, to client.Connection) error {
					configs, err := client.New(to, planted.Configs, client.Options{})
					if err == nil {
						err = c.do(ctx, configs)
					}
					<-ctx.Done()
					return errors.Join(err)
				}
				return p
			}, c.schedule)
			if got != "" {
				t.Error(got)
			}
		})
	}
}

// A rule that is left out may be broken, also one about the end.
func TestIgnoresConverges(t *testing.T) {
	const schedule = "refuse create configs.example.com prod/a code=500\nrefuse create configs.example.com prod/a call=2 code=500"
	for ignored, want := range map[string]string{"rule converges": "", "rule lease": `rule "converges"`} {
		got := sim.Again(t, func() sim.Program {
			p := making(func(error) {})()
			p.Ignore = []string{ignored}
			return p
		}, schedule)
		if !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: got %q, want %q", ignored, got, want)
		}
	}
}
