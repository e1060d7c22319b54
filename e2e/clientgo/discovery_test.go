//go:build e2e

package clientgo

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/disk"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/openapi3"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"
)

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, shortNames: [wd], categories: [all]}
  versions:
  - {name: v2, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, description: What is wanted.}}}}}
  - {name: v1beta1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}
`

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// define creates the definition of widgets and waits until the server serves them. The function
// that it returns ends them.
func define(t *testing.T, config *rest.Config) (undefine func()) {
	t.Helper()
	client, err := dynamic.NewForConfigAndClient(config, httpClient(t, config))
	if err != nil {
		t.Fatal(err)
	}
	var crd unstructured.Unstructured
	if err := yaml.Unmarshal([]byte(definition), &crd.Object); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Resource(definitions).Create(t.Context(), &crd, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	served := func(want bool) {
		plain := discoveryClient(t, config)
		for {
			_, group, err := plain.ServerGroupsAndResources()
			is := slices.ContainsFunc(group, func(l *metav1.APIResourceList) bool { return strings.HasPrefix(l.GroupVersion, "example.com/") })
			if err == nil && is == want {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	served(true)
	return func() {
		if err := client.Resource(definitions).Delete(t.Context(), crd.GetName(), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		served(false)
	}
}

func discoveryClient(t *testing.T, config *rest.Config) *discovery.DiscoveryClient {
	t.Helper()
	c, err := discovery.NewDiscoveryClientForConfigAndClient(config, httpClient(t, config))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// resources returns what is served, one line for each resource and subresource.
func resources(t *testing.T, client discovery.DiscoveryInterface) map[string]string {
	t.Helper()
	_, lists, err := client.ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, list := range lists {
		for _, r := range list.APIResources {
			if strings.Contains(r.Name, "/") {
				r.SingularName = "" // which only aggregated discovery has
			}
			if r.Version == "" { // only aggregated discovery always has both
				home, err := schema.ParseGroupVersion(list.GroupVersion)
				if err != nil {
					t.Fatal(err)
				}
				r.Group, r.Version = home.Group, home.Version
			}
			out[list.GroupVersion+" "+r.Name] = fmt.Sprint(r.Kind, r.Group, r.Version, r.Namespaced, r.SingularName, r.ShortNames, r.Categories, slices.Sorted(slices.Values(r.Verbs)))
		}
	}
	return out
}

// TestDiscovery: both forms of discovery show the same, and the caches show a definition once they
// are told to look.
func TestDiscovery(t *testing.T) {
	compare(t, func(t *testing.T, config *rest.Config) map[string]string {
		aggregated, old := discoveryClient(t, config), discoveryClient(t, config)
		old.UseLegacyDiscovery = true
		folder := t.TempDir()
		kept, err := disk.NewCachedDiscoveryClientForConfig(config, filepath.Join(folder, "d"), filepath.Join(folder, "http"), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		for name, cached := range map[string]discovery.CachedDiscoveryInterface{"memory": memory.NewMemCacheClient(aggregated), "disk": kept} {
			before := resources(t, cached)
			undefine := define(t, config)
			if got := resources(t, cached); len(got) != len(before) {
				t.Errorf("%s: the cache does not keep: %d resources, before %d", name, len(got), len(before))
			}
			cached.Invalidate()
			if got := resources(t, cached); len(got) != len(before)+2 {
				t.Errorf("%s: %d resources with the definition, before %d", name, len(got), len(before))
			}
			undefine()
			cached.Invalidate()
			if got := resources(t, cached); !maps.Equal(got, before) {
				t.Errorf("%s: after the definition has gone: %d resources, before %d", name, len(got), len(before))
			}
		}
		define(t, config)
		seen, legacy := resources(t, aggregated), resources(t, old)
		if d := cmp.Diff(legacy, seen); d != "" {
			t.Errorf("-each group +aggregated discovery:\n%s", d)
		}
		if _, ok := seen["apiregistration.k8s.io/v1 apiservices"]; ok {
			maps.DeleteFunc(seen, func(name, _ string) bool { return slices.Contains(notServed, name) })
		}
		return seen
	})
}

// notServed are the resources of a kube-apiserver that the stand-in has not: what needs kubelets or
// other servers, and what nobody uses.
var notServed = []string{
	"apiregistration.k8s.io/v1 apiservices", "apiregistration.k8s.io/v1 apiservices/status", "v1 componentstatuses",
	"v1 nodes/proxy", "v1 pods/attach", "v1 pods/exec", "v1 pods/portforward", "v1 pods/proxy", "v1 services/proxy",
}

// TestRESTMapper maps kinds, short names and categories, and finds a definition that came later.
func TestRESTMapper(t *testing.T) {
	compare(t, func(t *testing.T, config *rest.Config) (seen []string) {
		cached := memory.NewMemCacheClient(discoveryClient(t, config))
		deferred := restmapper.NewDeferredDiscoveryRESTMapper(cached)
		mapper := restmapper.NewShortcutExpander(deferred, cached, nil)
		look := func() {
			for _, kind := range []schema.GroupKind{{Kind: "Pod"}, {Group: "apps", Kind: "Deployment"}, {Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}, {Group: "example.com", Kind: "Widget"}} {
				m, err := mapper.RESTMapping(kind)
				if err != nil {
					seen = append(seen, fmt.Sprintf("%v: no match %v", kind, meta.IsNoMatchError(err)))
					continue
				}
				seen = append(seen, fmt.Sprintf("%v: %v %v %v", kind, m.Resource, m.GroupVersionKind, m.Scope.Name()))
			}
			for _, name := range []string{"po", "deploy", "events", "hpa", "wd", "crd", "nothing"} {
				kinds, err := mapper.KindsFor(schema.GroupVersionResource{Resource: name})
				seen = append(seen, fmt.Sprintf("%s: %v %v", name, kinds, meta.IsNoMatchError(err)))
			}
			all, _ := restmapper.NewDiscoveryCategoryExpander(cached).Expand("all") // in a random order
			slices.SortFunc(all, func(a, b schema.GroupResource) int { return strings.Compare(a.String(), b.String()) })
			seen = append(seen, fmt.Sprint("all: ", all))
		}
		look()
		undefine := define(t, config)
		look() // the mapper asks again for what it does not know
		undefine()
		deferred.Reset()
		look()
		return seen
	})
}

// TestOpenAPI reads the schemas as programs do.
func TestOpenAPI(t *testing.T) {
	compare(t, func(t *testing.T, config *rest.Config) map[string]string {
		define(t, config)
		client := discoveryClient(t, config)
		root := openapi3.NewRoot(client.OpenAPIV3())
		seen := map[string]string{}
		for { // a kube-apiserver publishes schemas of definitions in the background
			_, err := root.GVSpec(schema.GroupVersion{Group: "example.com", Version: "v2"})
			doc, err2 := client.OpenAPISchema()
			if err == nil && err2 == nil && strings.Contains(doc.String(), "com.example.v2.Widget") {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		for _, version := range []schema.GroupVersion{{Version: "v1"}, {Group: "apps", Version: "v1"}, {Group: "example.com", Version: "v2"}, {Group: "none.example.com", Version: "v1"}} {
			doc, err := root.GVSpec(version)
			if err != nil {
				seen[version.String()] = "error"
				continue
			}
			for _, name := range []string{"io.k8s.api.core.v1.Pod", "io.k8s.api.apps.v1.DeploymentSpec", "com.example.v2.Widget", "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"} {
				if s := doc.Components.Schemas[name]; s != nil {
					text, err := s.MarshalJSON()
					if err != nil {
						t.Fatal(err)
					}
					seen[version.String()+" "+name] = string(text)
				}
			}
		}
		versions, err := root.GroupVersions()
		if err != nil || len(versions) < 20 {
			t.Errorf("%d versions, %v", len(versions), err)
		}
		doc, err := client.OpenAPISchema() // version 2, in protobuf
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range doc.Definitions.AdditionalProperties {
			switch d.Name {
			case "io.k8s.api.core.v1.Container", "com.example.v2.Widget", "io.k8s.apimachinery.pkg.util.intstr.IntOrString":
				seen["version 2: "+d.Name] = strings.Join(strings.Fields(d.Value.String()), " ")
			}
		}
		return seen
	})
}
