package sim_test

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/sim"
	"github.com/kinform/kinform/fake/sim/internal/planted"
)

// Some rules have no planted bug. Each program does something to a Config, and breaks one of them.
func TestRules(t *testing.T) {
	for rule, c := range map[string]struct {
		do       func(ctx context.Context, configs *client.Resource[*planted.Config], config *planted.Config)
		schedule string
	}{
		"overwrites": {func(ctx context.Context, configs *client.Resource[*planted.Config], config *planted.Config) {
			if _, err := configs.Create(ctx, config, metav1.CreateOptions{}); err == nil {
				config.Data = map[string]string{"made": "yes"}
				_, _ = configs.Update(ctx, config, metav1.UpdateOptions{})
			}
		}, "touch update configs.example.com prod/a"},
		"again": {func(ctx context.Context, configs *client.Resource[*planted.Config], config *planted.Config) {
			_ = configs.Delete(ctx, types.NamespacedName{Namespace: "prod", Name: "a"}, metav1.DeleteOptions{})
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
	} {
		t.Run(rule, func(t *testing.T) {
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
