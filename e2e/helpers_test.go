//go:build e2e

package e2e_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/e2e/oracle"
	"github.com/kinform/kinform/examples/website"
	"github.com/kinform/kinform/kind"
)

// part is what a program knows of Deployments and of Websites: much less than the server.
type part struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Template struct {
			Spec struct {
				Containers []partContainer `json:"containers,omitempty"`
			} `json:"spec,omitzero"`
		} `json:"template,omitzero"`
		Rules []partRule `json:"rules,omitempty"`
	} `json:"spec"`
	Status struct {
		Conditions []metav1.Condition `json:"conditions,omitempty"`
		Summary    struct {
			Ready int `json:"ready,omitempty"`
		} `json:"summary"`
	} `json:"status"`
}

type partContainer struct {
	Name  string `json:"name"`
	Image string `json:"image"`
}

type partRule struct {
	Name   string `json:"name"`
	Limits struct {
		CPU int `json:"cpu,omitempty"`
	} `json:"limits"`
}

func (p *part) DeepCopy() *part {
	c := *p
	c.ObjectMeta = *p.ObjectMeta.DeepCopy()
	c.Spec.Template.Spec.Containers = slices.Clone(p.Spec.Template.Spec.Containers)
	c.Spec.Rules = slices.Clone(p.Spec.Rules)
	c.Status.Conditions = slices.Clone(p.Status.Conditions)
	return &c
}

// helped is a client that counts patches and calls between before the first.
type helped struct {
	*client.Resource[*part]
	patches int
	between func()
}

func (h *helped) Patch(ctx context.Context, key types.NamespacedName, pt types.PatchType, data []byte, opts metav1.PatchOptions) (*part, error) {
	if h.patches++; h.patches == 1 && h.between != nil {
		h.between()
	}
	return h.Resource.Patch(ctx, key, pt, data, opts)
}

// testHelpers shows that a server keeps what the type of an author lacks.
func testHelpers(ctx context.Context, t *testing.T, conn client.Connection, api *oracle.Client) {
	t.Run("containers", func(t *testing.T) { testContainers(ctx, t, conn, api) })
	t.Run("missing parents", func(t *testing.T) { testMissingParents(ctx, t, conn, api) })
	t.Run("finalizers and owners", func(t *testing.T) { testFinalizersAndOwners(ctx, t, conn, api) })
}

const partDeployment = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"helped"},"spec":{"paused":true,
	"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"serviceAccountName":"sa","containers":[
		{"name":"c","image":"i:1","ports":[{"containerPort":80}],"livenessProbe":{"tcpSocket":{"port":80}}},
		{"name":"d","image":"j","env":[{"name":"A","value":"B"}]}]}}}}`

func testContainers(ctx context.Context, t *testing.T, conn client.Connection, api *oracle.Client) {
	const path = "/apis/apps/v1/namespaces/default/deployments"
	must(t, api.Do(ctx, http.MethodPost, path, json.RawMessage(partDeployment), nil))
	foreign := `{"type":"Available","status":"True","lastUpdateTime":"2026-01-01T00:00:00Z","lastTransitionTime":"2026-01-01T00:00:00Z","reason":"R","message":"M"}` // in the server's order
	must(t, api.Do(ctx, http.MethodPatch, path+"/helped/status", json.RawMessage(`{"status":{"observedGeneration":1,"conditions":[`+foreign+`]}}`), nil))
	h := &helped{Resource: resource(t, conn, kind.As[*part](deployments), client.Options{Namespace: "default"})}
	image := func(tag string) func(*part) error {
		return func(p *part) error {
			for n, c := range p.Spec.Template.Spec.Containers {
				if c.Name == "c" {
					p.Spec.Template.Spec.Containers[n].Image = tag
				}
			}
			return nil
		}
	}
	check := func(step string, patches int, want ...string) {
		t.Helper()
		raw, err := oracle.Get[json.RawMessage](ctx, api, path+"/helped")
		must(t, err)
		for _, w := range append(want, `"paused":true`, `"serviceAccountName":"sa"`, `"containerPort":80`, `"livenessProbe":{"tcpSocket":{"port":80}`,
			`"env":[{"name":"A","value":"B"}]`, `"observedGeneration":1`, foreign) {
			if !strings.Contains(string(*raw), w) {
				t.Errorf("%s: %s is gone: %s", step, w, *raw)
			}
		}
		if h.patches != patches {
			t.Errorf("%s: %d patches, want %d", step, h.patches, patches)
		}
		h.patches = 0
	}
	obj := &part{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "helped"}}
	_, _, err := controller.CreateOrUpdate(ctx, h, obj, image("i:2"))
	must(t, err)
	check("an image", 1, `"image":"i:2"`)

	h.between = func() {
		containers := json.RawMessage(`{"spec":{"template":{"spec":{"$setElementOrder/containers":[{"name":"z"},{"name":"c"},{"name":"d"}],"containers":[{"name":"z","image":"z:1"}]}}}}`)
		_, err := resource(t, conn, deployments, client.Options{Namespace: "default"}).
			Patch(ctx, inDefault("helped"), types.StrategicMergePatchType, containers, metav1.PatchOptions{})
		must(t, err)
	}
	_, _, err = controller.CreateOrUpdate(ctx, h, obj, image("i:3"))
	must(t, err)
	h.between = nil
	check("another container in front, meanwhile", 2, `"image":"i:3"`, `"image":"z:1"`)

	_, _, err = controller.CreateOrUpdate(ctx, h, obj, func(p *part) error {
		all := slices.DeleteFunc(p.Spec.Template.Spec.Containers, func(c partContainer) bool { return c.Name == "z" })
		slices.Reverse(all)
		p.Spec.Template.Spec.Containers = append(all, partContainer{Name: "y", Image: "y:1"})
		return nil
	})
	must(t, err)
	check("turned, one less and one more", 1, `"image":"y:1"`)
	now, err := h.Get(ctx, inDefault("helped"), metav1.GetOptions{})
	must(t, err)
	if all := now.Spec.Template.Spec.Containers; len(all) != 3 || all[0].Name != "d" || all[1].Name != "c" || all[2].Name != "y" {
		t.Errorf("the containers are %v", all)
	}
	_, err = controller.PatchStatus(ctx, h, now, func(p *part) {
		controller.SetCondition(&p.Status.Conditions, 0, metav1.Condition{Type: "Mine", Status: metav1.ConditionTrue, Reason: "X"})
	})
	must(t, err)
	check("a condition", 0, `"type":"Mine"`)
	must(t, api.Delete(ctx, path+"/helped"))
}

// testMissingParents writes into structs that the type always shows, and that the server may lack.
func testMissingParents(ctx context.Context, t *testing.T, conn client.Connection, api *oracle.Client) {
	site := json.RawMessage(`{"apiVersion":"example.com/v1","kind":"Website","metadata":{"name":"helped"},"spec":{"rules":[{"name":"a","note":"x"},{"name":"b","limits":{"memory":1}}]}}`)
	must(t, api.Do(ctx, http.MethodPost, websitesPath, site, nil))
	sites := &helped{Resource: resource(t, conn, kind.As[*part](website.Websites), client.Options{Namespace: "default"})}
	now, _, err := controller.CreateOrUpdate(ctx, sites, &part{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "helped"}}, func(p *part) error {
		p.Spec.Rules[0].Limits.CPU, p.Spec.Rules[1].Limits.CPU = 1, 2
		return nil
	})
	must(t, err)
	if now.Generation != 2 || sites.patches != 4 { // the second and the third only ask
		t.Errorf("generation %d after %d patches", now.Generation, sites.patches)
	}
	for n, reason := range []string{"One", "Two"} {
		now, err = controller.PatchStatus(ctx, sites, now, func(p *part) {
			p.Status.Summary.Ready = n // the second together with a condition that stays
			controller.SetCondition(&p.Status.Conditions, 1, metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: reason})
		})
		must(t, err)
	}
	raw, err := oracle.Get[map[string]any](ctx, api, websitesPath+"/helped")
	must(t, err)
	spec, err := json.Marshal((*raw)["spec"])
	must(t, err)
	if want := `{"rules":[{"limits":{"cpu":1},"name":"a","note":"x"},{"limits":{"cpu":2,"memory":1},"name":"b"}]}`; string(spec) != want {
		t.Errorf("the spec is %s, want %s", spec, want)
	}
	status, err := json.Marshal((*raw)["status"])
	must(t, err)
	if !strings.Contains(string(status), `"reason":"Two"`) || !strings.Contains(string(status), `"summary":{"ready":1}`) {
		t.Errorf("the status is %s", status)
	}
	must(t, api.Delete(ctx, websitesPath+"/helped"))
}

// testFinalizersAndOwners finalizes and adopts an object that others hold and own, too, and write meanwhile.
func testFinalizersAndOwners(ctx context.Context, t *testing.T, conn client.Connection, api *oracle.Client) {
	for _, site := range []string{
		`{"apiVersion":"example.com/v1","kind":"Website","metadata":{"name":"owner"}}`,
		`{"apiVersion":"example.com/v1","kind":"Website","metadata":{"name":"held","finalizers":["example.com/a"],
			"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"x","uid":"u"}]},"spec":{"host":"h","rules":[{"name":"a","note":"x"}]},"status":{"phase":"p"}}`,
	} {
		must(t, api.Do(ctx, http.MethodPost, websitesPath, json.RawMessage(site), nil))
	}
	sites := &helped{Resource: resource(t, conn, kind.As[*part](website.Websites), client.Options{Namespace: "default"})}
	others := resource(t, conn, website.Websites, client.Options{Namespace: "default"})
	get := func(name string) *part {
		t.Helper()
		now, err := sites.Get(ctx, inDefault(name), metav1.GetOptions{})
		must(t, err)
		return now
	}
	check := func(step string, owners int, finalizers ...string) {
		t.Helper()
		raw, err := oracle.Get[json.RawMessage](ctx, api, websitesPath+"/held")
		must(t, err)
		for _, want := range []string{`"host":"h"`, `"note":"x"`, `"uid":"u"`} {
			if !strings.Contains(string(*raw), want) {
				t.Errorf("%s: %s is gone: %s", step, want, *raw)
			}
		}
		if now := get("held"); !slices.Equal(now.Finalizers, finalizers) || len(now.OwnerReferences) != owners {
			t.Errorf("%s: finalizers %v and %d owners, want %v and %d", step, now.Finalizers, len(now.OwnerReferences), finalizers, owners)
		}
		sites.patches, sites.between = 0, nil
	}
	hold := func(json string) func() {
		return func() {
			_, err := others.Patch(ctx, inDefault("held"), types.MergePatchType, []byte(`{"metadata":{"finalizers":[`+json+`]}}`), metav1.PatchOptions{})
			must(t, err)
		}
	}
	const mine = "example.com/mine"
	cleaned := 0
	cleanup := func(context.Context, *part) error { cleaned++; return nil }

	sites.between = hold(`"example.com/a","example.com/b"`)
	now, done, err := controller.Finalize(ctx, sites, get("held"), mine, cleanup)
	if must(t, err); done || cleaned > 0 || sites.patches != 2 || !slices.Contains(now.Finalizers, mine) {
		t.Errorf("done %v, %d cleanups, %d patches, %v", done, cleaned, sites.patches, now.Finalizers)
	}
	check("a finalizer", 1, "example.com/a", "example.com/b", mine)

	sites.between = hold(`"example.com/a","` + mine + `"`)
	owner := get("owner")
	for range 2 { // the second only asks
		_, _, err = controller.CreateOrUpdate(ctx, sites, now, func(p *part) error { return controller.Adopt(p, owner, kind.As[*part](website.Websites)) })
		must(t, err)
	}
	if sites.patches != 2 {
		t.Errorf("%d patches to adopt", sites.patches)
	}
	check("an owner", 2, "example.com/a", mine)
	if ref := metav1.GetControllerOf(get("held")); ref == nil || ref.UID != owner.UID || ref.Kind != "Website" {
		t.Errorf("the controller is %+v", ref)
	}

	must(t, api.Delete(ctx, websitesPath+"/held"))
	now = get("held")
	for range 2 { // the second finds nothing to do
		if _, done, err = controller.Finalize(ctx, sites, now, mine, cleanup); err != nil || !done || cleaned != 1 {
			t.Errorf("done %v, %d cleanups: %v", done, cleaned, err)
		}
	}
	check("a cleanup", 2, "example.com/a")
	hold("")()
	if _, done, err = controller.Finalize(ctx, sites, now, mine, cleanup); err != nil || !done || cleaned != 1 {
		t.Errorf("of an object that is gone: done %v, %d cleanups: %v", done, cleaned, err)
	}
	must(t, api.Delete(ctx, websitesPath+"/owner"))
}
