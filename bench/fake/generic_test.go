package fake_test

import (
	"iter"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/kinform/kinform/fake"
)

func everything() labels.Selector { return labels.Everything() }

func values[T any](s []T) iter.Seq[T] { return slices.Values(s) }

func widgets() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
}

func podsResource() schema.GroupVersionResource {
	return corev1.SchemeGroupVersion.WithResource("pods")
}

func TestDynamic(t *testing.T) {
	everywhere(t, func(t *testing.T, s *fake.Server, c *rest.Config) {
		client := dynamic.NewForConfigOrDie(c)
		w := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1", "kind": "Widget",
			"metadata": map[string]any{"namespace": "a", "generateName": "w-"},
			"spec":     map[string]any{"size": int64(1) << 60},
		}}
		made := must(client.Resource(widgets()).Namespace("a").Create(t.Context(), w, metav1.CreateOptions{}))(t)
		if size, _, _ := unstructured.NestedInt64(made.Object, "spec", "size"); size != 1<<60 || made.GetName() == "" {
			t.Errorf("created %v", made)
		}
		must(fake.Create(s, pod("a", "p")))(t)
		factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
		for _, gvr := range []schema.GroupVersionResource{widgets(), podsResource()} {
			factory.ForResource(gvr)
		}
		factory.Start(t.Context().Done())
		t.Cleanup(factory.Shutdown)
		for gvr, ok := range factory.WaitForCacheSync(t.Context().Done()) {
			list := must(factory.ForResource(gvr).Lister().List(everything()))(t)
			if !ok || len(list) != 1 {
				t.Errorf("%s: %t, %v", gvr, ok, list)
			}
		}
		check(t, client.Resource(widgets()).Namespace("a").Delete(t.Context(), made.GetName(), metav1.DeleteOptions{}))
		eventually(t, "the widget to go", func() bool {
			return len(must(factory.ForResource(widgets()).Lister().List(everything()))(t)) == 0
		})
	})
}

func TestMetadata(t *testing.T) {
	everywhere(t, func(t *testing.T, s *fake.Server, c *rest.Config) {
		must(fake.Create(s, pod("a", "p")))(t)
		must(fake.Create(s, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1", "kind": "Widget",
			"metadata": map[string]any{"namespace": "a", "name": "w", "labels": map[string]any{"app": "web"}},
		}}))(t)
		client := metadata.NewForConfigOrDie(c)
		for _, gvr := range []schema.GroupVersionResource{widgets(), podsResource()} {
			list := must(client.Resource(gvr).List(t.Context(), metav1.ListOptions{LabelSelector: "app=web"}))(t)
			if len(list.Items) != 1 || list.Items[0].UID == "" || list.ResourceVersion != "3" {
				t.Errorf("%s: %+v", gvr, list)
			}
			one := must(client.Resource(gvr).Namespace("a").Get(t.Context(), list.Items[0].Name, metav1.GetOptions{}))(t)
			if one.Labels["app"] != "web" || one.ResourceVersion == "" {
				t.Errorf("%s: %+v", gvr, one)
			}
		}
		factory := metadatainformer.NewSharedInformerFactory(client, 0)
		inf := factory.ForResource(podsResource())
		inf.Informer()
		factory.Start(t.Context().Done())
		t.Cleanup(factory.Shutdown)
		factory.WaitForCacheSync(t.Context().Done())
		must(fake.Create(s, pod("a", "q")))(t)
		eventually(t, "the second pod", func() bool { return len(must(inf.Lister().List(everything()))(t)) == 2 })
	})
}

func TestDiscovery(t *testing.T) {
	everywhere(t, func(t *testing.T, s *fake.Server, c *rest.Config) {
		for _, legacy := range []bool{false, true} {
			client := discovery.NewDiscoveryClientForConfigOrDie(c)
			client.UseLegacyDiscovery = legacy
			groups, lists, err := client.ServerGroupsAndResources()
			check(t, err)
			var got []string
			for _, l := range lists {
				for _, r := range l.APIResources {
					if !strings.Contains(r.Name, "/") {
						got = append(got, l.GroupVersion+" "+r.Name+" "+r.Kind)
					}
				}
			}
			slices.Sort(got)
			want := []string{"apps/v1 deployments Deployment", "example.com/v1 widgets Widget", "v1 configmaps ConfigMap", "v1 events Event", "v1 namespaces Namespace", "v1 pods Pod"}
			if !slices.Equal(got, want) || len(groups) != 3 {
				t.Errorf("legacy %t: %d groups, %q", legacy, len(groups), got)
			}
		}
		client := discovery.NewDiscoveryClientForConfigOrDie(c)
		mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client))
		m := must(mapper.RESTMapping(schema.GroupKind{Group: "example.com", Kind: "Widget"}))(t)
		if m.Resource != widgets() || m.Scope.Name() != "namespace" {
			t.Errorf("mapped to %+v", m)
		}
		if v := must(client.ServerVersion())(t); v.Major != "1" {
			t.Errorf("version %v", v)
		}
		for _, path := range []string{"/healthz", "/livez", "/readyz", "/readyz/ping"} {
			if b := must(client.RESTClient().Get().AbsPath(path).DoRaw(t.Context()))(t); string(b) != "ok" {
				t.Errorf("%s: %s", path, b)
			}
		}
	})
}

func TestOpenAPI(t *testing.T) {
	everywhere(t, func(t *testing.T, _ *fake.Server, c *rest.Config) {
		client := discovery.NewDiscoveryClientForConfigOrDie(c)
		if doc := must(client.OpenAPISchema())(t); doc.GetSwagger() != "2.0" || doc.GetInfo().GetTitle() != "Kubernetes" {
			t.Errorf("version 2: %v", doc)
		}
		paths := must(client.OpenAPIV3().Paths())(t)
		if len(paths) != 3 {
			t.Errorf("version 3 has %d versions", len(paths))
		}
		doc := must(paths["apis/apps/v1"].Schema("application/json"))(t)
		if !strings.Contains(string(doc), `"kind":"Deployment"`) {
			t.Errorf("%s", doc)
		}
	})
}
