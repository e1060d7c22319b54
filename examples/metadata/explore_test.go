package metadata_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/examples/internal/stage"
	"github.com/kinform/kinform/examples/metadata"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/sim"
	"github.com/kinform/kinform/with/kubernetes/core"
)

// TestExplore looks for a schedule after which a Secret does not have the label of its namespace.
func TestExplore(t *testing.T) {
	secret := func(name string) stage.Step {
		return stage.Created(fake.Object(&corev1.Secret{Data: map[string][]byte{"a": []byte("b")}}, "prod", name))
	}
	team := func(name string) string { return `{"metadata":{"labels":{"example.com/team":` + name + `}}}` }
	prod, a := kinform.Key{Name: "prod"}, kinform.Key{Namespace: "prod", Name: "a"}
	stage.Explore(t, 400, func() sim.Program {
		return sim.Program{
			Server: stage.Server(fake.Options{}, stage.Kind(core.Namespaces), stage.Kind(core.Secrets)),
			Run:    metadata.Run,
			Users: stage.Users(
				secret("a"), stage.Created(fake.Object(&corev1.Namespace{}, "", "prod", fake.Labels(metadata.Label, "red"))), secret("b"),
				stage.Patched[*corev1.Secret](a, team(`"mine"`)),
				stage.Patched[*corev1.Namespace](prod, team("null")),
				stage.Patched[*corev1.Secret](a, team(`"mine"`)),
				stage.Patched[*corev1.Namespace](prod, team(`"green"`)),
				stage.Deleted[*corev1.Secret](a), secret("a"),
			),
		}
	})
}
