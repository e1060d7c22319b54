package openapi_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/with/kubernetes/core"
	"github.com/kinform/kinform/with/kubernetes/openapi"
)

// tree is a type without any text about itself, which contains itself.
type tree struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Left    *tree
	Leaves  []leaf           `json:"leaves,omitempty"`
	ByName  map[string]*leaf `json:"byName"`
	Raw     []byte           `json:"raw,omitempty"`
	Free    any              `json:"free,omitempty"`
	Dropped string           `json:"-"`
}

type leaf struct {
	Size  float64       `json:"size"`
	Since metav1.Time   `json:"since"`
	Word  word          `json:"word,omitempty"`
	Wait  time.Duration `json:"wait,omitempty"`
	Count uint16        `json:"count"`
	Red   bool          `json:"red"`
}

// word encodes itself.
type word struct{}

func (word) MarshalText() ([]byte, error) { return []byte("w"), nil }

func encoded(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestOwnTypes(t *testing.T) {
	trees := kind.Of[*tree](schema.GroupVersion{Group: "example.com", Version: "v1"}, "trees").Named("Tree")
	all := openapi.Rules(trees).OpenAPI()
	const pkg = "github.com.kinform.kinform.with.kubernetes.openapi_test."
	root := all[pkg+"tree"].(map[string]any)
	properties := root["properties"].(map[string]any)
	for name, want := range map[string]string{
		"Left":   `{"$ref":"#/components/schemas/PKG.tree"}`,
		"leaves": `{"items":{"$ref":"#/components/schemas/PKG.leaf"},"type":"array","x-kubernetes-list-type":"atomic"}`,
		"byName": `{"additionalProperties":{"$ref":"#/components/schemas/PKG.leaf"},"type":"object"}`,
		"raw":    `{"format":"byte","type":"string"}`,
		"free":   `{"x-kubernetes-preserve-unknown-fields":true}`,
	} {
		if got := encoded(t, properties[name]); got != strings.ReplaceAll(want, "PKG.", pkg) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if got, want := encoded(t, root["required"]), `["byName"]`; got != want || len(properties) != 8 {
		t.Errorf("required %s of %v", got, properties)
	}
	if got, want := encoded(t, root["x-kubernetes-group-version-kind"]), `[{"group":"example.com","kind":"Tree","version":"v1"}]`; got != want {
		t.Errorf("kind %s, want %s", got, want)
	}
	const want = `{"properties":{"count":{"format":"int32","type":"integer"},"red":{"default":false,"type":"boolean"},` +
		`"since":{"$ref":"#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.Time"},` +
		`"size":{"format":"double","type":"number"},"wait":{"format":"int64","type":"integer"},` +
		`"word":{"allOf":[{"$ref":"#/components/schemas/PKG.word"}],"default":{}}},` +
		`"required":["size","since","count","red"],"type":"object"}`
	if got := encoded(t, all[pkg+"leaf"]); got != strings.ReplaceAll(want, "PKG.", pkg) {
		t.Errorf("leaf %s, want %s", got, want)
	}
	if got := encoded(t, all[pkg+"word"]); got != `{"x-kubernetes-preserve-unknown-fields":true}` {
		t.Errorf("a type that encodes itself: %s", got)
	}
}

// TestBuiltIn reads what comes from the type, from its texts and from the recorded file.
func TestBuiltIn(t *testing.T) {
	all := openapi.Rules(core.Pods).OpenAPI()
	port := all["io.k8s.api.core.v1.ContainerPort"].(map[string]any)
	for _, want := range []string{`"format":"int32"`, `"description":"ContainerPort represents`, `"enum":["SCTP","TCP","UDP"]`, `"required":["containerPort"]`} {
		if got := encoded(t, port); !strings.Contains(got, want) {
			t.Errorf("%s lacks %s", got, want)
		}
	}
	if len(all) < 100 {
		t.Errorf("%d schemas", len(all))
	}
	// What one caller changes, another one does not see.
	delete(port["properties"].(map[string]any), "protocol")
	again := openapi.Rules(core.Pods).OpenAPI()
	if !strings.Contains(encoded(t, again["io.k8s.api.core.v1.ContainerPort"]), `"enum":["SCTP"`) {
		t.Error("a change of one description is in the next")
	}
}

// TestApply: a selector is owned as a whole, and the same port of two protocols is two items. Tags
// of Go say neither.
func TestApply(t *testing.T) {
	server := fake.New(fake.Options{})
	if err := fake.Register(server, core.Services, openapi.Rules(core.Services)); err != nil {
		t.Fatal(err)
	}
	services, err := client.New(client.Connection{URL: fake.URL, HTTP: server.Client()}, core.Services, client.Options{Namespace: "a"})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup // the first applies make the converter
	for _, manager := range []string{"one", "two"} {
		all.Go(func() {
			config := map[string]any{
				"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": manager},
				"spec": map[string]any{"selector": map[string]any{"app": "web"}, "ports": []any{
					map[string]any{"name": "t", "port": 53, "protocol": "TCP"}, map[string]any{"name": "u", "port": 53, "protocol": "UDP"},
				}},
			}
			_, err := services.Apply(t.Context(), config, metav1.ApplyOptions{FieldManager: manager})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	got, err := fake.Get[*corev1.Service](server, types.NamespacedName{Namespace: "a", Name: "one"})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Spec.Ports) != 2 || len(got.ManagedFields) != 1 || !strings.Contains(got.ManagedFields[0].FieldsV1.GetRawString(), `"f:selector":{}`) {
		t.Errorf("%d ports, owners %v", len(got.Spec.Ports), got.ManagedFields)
	}
}
