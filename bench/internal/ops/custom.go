package ops

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/kinform/kinform/informer"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/bench/internal/measure"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// site is a custom resource as operators have them, of 2.5 KB of JSON.
type site struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   siteSpec   `json:"spec,omitempty"`
	Status siteStatus `json:"status,omitempty"`
}

type siteSpec struct {
	Image    string            `json:"image"`
	Replicas int32             `json:"replicas"`
	Hosts    []string          `json:"hosts,omitempty"`
	Config   map[string]string `json:"config,omitempty"`
	Routes   []siteRoute       `json:"routes,omitempty"`
}

type siteRoute struct {
	Path    string `json:"path"`
	Backend string `json:"backend"`
	Port    int32  `json:"port"`
}

type siteStatus struct {
	Ready      int32              `json:"ready"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// DeepCopyObject implements runtime.Object, which client-go asks for.
func (s *site) DeepCopyObject() runtime.Object {
	out := *s
	s.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec.Hosts = slices.Clone(s.Spec.Hosts)
	out.Spec.Config = maps.Clone(s.Spec.Config)
	out.Spec.Routes = slices.Clone(s.Spec.Routes)
	out.Status.Conditions = slices.Clone(s.Status.Conditions)
	return &out
}

// siteList is the type into which client-go decodes a list.
type siteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []site `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (l *siteList) DeepCopyObject() runtime.Object {
	out := *l
	out.Items = make([]site, len(l.Items))
	for i := range l.Items {
		out.Items[i] = *l.Items[i].DeepCopyObject().(*site)
	}
	return &out
}

var sites = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "sites"}

func makeSite(i int) *site {
	name := fmt.Sprintf("site-%05d", i)
	s := &site{
		TypeMeta: metav1.TypeMeta{Kind: "Site", APIVersion: "example.com/v1"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: fmt.Sprintf("team-%d", i%50), Name: name, UID: types.UID(fmt.Sprintf("6f0c9a7e-0000-4000-8000-%012d", i)), ResourceVersion: strconv.Itoa(i + 1), Generation: 3,
			CreationTimestamp: metav1.Unix(1_700_000_000+int64(i), 0),
			Labels:            map[string]string{"app.kubernetes.io/name": name, "app.kubernetes.io/managed-by": "sites", "team": fmt.Sprint(i % 50)},
			Finalizers:        []string{"example.com/cleanup"},
			ManagedFields: []metav1.ManagedFieldsEntry{{
				Manager: "sites", Operation: metav1.ManagedFieldsOperationApply, APIVersion: "example.com/v1", FieldsType: "FieldsV1",
				FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{"f:team":{}}},"f:spec":{"f:image":{},"f:replicas":{},"f:hosts":{},"f:config":{},"f:routes":{}}}`),
			}},
		},
		Spec: siteSpec{
			Image: "registry.example.com/sites/nginx:1.27.3", Replicas: int32(i%5 + 1),
			Hosts:  []string{name + ".example.com", "www." + name + ".example.com"},
			Config: map[string]string{},
		},
		Status: siteStatus{Ready: int32(i%5 + 1)},
	}
	for n := range 12 {
		s.Spec.Config[fmt.Sprintf("setting-%d", n)] = fmt.Sprintf("value %d of %s", n, name)
	}
	for n := range 6 {
		s.Spec.Routes = append(s.Spec.Routes, siteRoute{Path: fmt.Sprintf("/api/v%d/", n), Backend: name + "-backend", Port: 8080})
	}
	for _, typ := range []string{"Ready", "Progressing", "Degraded"} {
		s.Status.Conditions = append(s.Status.Conditions, metav1.Condition{
			Type: typ, Status: metav1.ConditionTrue, ObservedGeneration: 3, LastTransitionTime: s.CreationTimestamp,
			Reason: "AsExpected", Message: "all replicas of " + name + " are up to date",
		})
	}
	return s
}

// newSiteServer returns a server of n sites in JSON, as a server has custom resources.
func newSiteServer(n int, streams bool) (*wireServer, error) {
	s := &wireServer{streams: streams}
	s.json = answers{mediaType: "application/json", streamType: "application/json"}
	list := siteList{TypeMeta: metav1.TypeMeta{Kind: "SiteList", APIVersion: "example.com/v1"}, ListMeta: metav1.ListMeta{ResourceVersion: "100000"}}
	for i := range n {
		list.Items = append(list.Items, *makeSite(i))
	}
	var err error
	if s.json.list, err = json.Marshal(list); err != nil {
		return nil, err
	}
	end := site{TypeMeta: list.Items[0].TypeMeta, ObjectMeta: endOfList(list.ResourceVersion)}
	if s.json.initial, err = initialEvents(list.Items, end); err != nil {
		return nil, err
	}
	s.start()
	return s, nil
}

// customs are syncs of custom resources from the bytes of an API server.
func customs(w *World) []measure.Op {
	n := min(w.Pods, wirePods)
	var all []measure.Op
	for _, c := range []struct {
		name, title   string
		kinform, peer wireStarter
		streams       bool
		goal          float64
	}{
		{"typed-list", "typed, by LIST", startSites[*site], startTypedClientGo, false, 3},
		{"typed-watchlist", "typed, by WatchList", startSites[*site], startTypedClientGo, true, 3},
		{"unstructured-list", "Unstructured, by LIST", startSites[*unstructured.Unstructured], startDynamicClientGo, false, 4},
		{"unstructured-watchlist", "Unstructured, by WatchList", startSites[*unstructured.Unstructured], startDynamicClientGo, true, 4},
	} {
		all = append(all, measure.Op{
			Name: "custom/" + c.name, Whole: true, Rounds: 6,
			Lines: []measure.Line{
				{Title: "sync of " + some(n, "custom resource", "custom resources") + " over HTTP, " + c.title, Unit: measure.Nanoseconds, Goal: c.goal},
				{Title: "peak of the heap in it, custom resources, " + c.title, Unit: "B/peak", Goal: 1},
			},
			Setup: func() (measure.Sides, error) {
				return wireSyncs(Contents{Kind: "sites", Objects: n, Streams: c.streams}, c.kinform, c.peer, "")
			},
		})
	}
	return all
}

func startSites[T metav1.Object](s *server, _ string, n int) (func(), error) {
	h := newTransport()
	source, err := client.New(client.Connection{URL: s.URL, HTTP: h}, kind.Of[T](sites.GroupVersion(), sites.Resource).Named("Site"), client.Options{})
	if err != nil {
		return nil, err
	}
	return runWire(h, reflector.Source[T](source), store.ObjectKey[T], informer.Options[T]{}, n)
}

// startTypedClientGo works like a generated client of a custom resource.
func startTypedClientGo(s *server, _ string, n int) (func(), error) {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(sites.GroupVersion().WithKind("Site"), &site{})
	scheme.AddKnownTypeWithName(sites.GroupVersion().WithKind("SiteList"), &siteList{})
	metav1.AddToGroupVersion(scheme, sites.GroupVersion())
	h := newTransport()
	config := &rest.Config{Host: s.URL, APIPath: "/apis", QPS: -1, ContentConfig: rest.ContentConfig{
		GroupVersion: new(sites.GroupVersion()), NegotiatedSerializer: serializer.NewCodecFactory(scheme).WithoutConversion(),
	}}
	c, err := rest.RESTClientForConfigAndClient(config, h)
	if err != nil {
		return nil, err
	}
	inf := cache.NewSharedIndexInformer(cache.NewListWatchFromClient(c, sites.Resource, "", fields.Everything()), &site{}, 0, cache.Indexers{})
	return countPeer(inf, n, h.CloseIdleConnections)
}

func startDynamicClientGo(s *server, _ string, n int) (func(), error) {
	h := newTransport()
	c, err := dynamic.NewForConfigAndClient(&rest.Config{Host: s.URL, QPS: -1}, h)
	if err != nil {
		return nil, err
	}
	factory := dynamicinformer.NewDynamicSharedInformerFactory(c, 0)
	return countPeer(factory.ForResource(sites).Informer(), n, h.CloseIdleConnections)
}
