package client_test

import (
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/kind"
)

func TestNewRejectsMisuse(t *testing.T) {
	good := client.Connection{URL: "https://example.com"}
	pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	for _, test := range []struct {
		name string
		conn client.Connection
		gvr  schema.GroupVersionResource
		opts client.Options
		text string
	}{
		{name: "no URL", gvr: pods, text: "no URL"},
		{name: "no scheme", conn: client.Connection{URL: "example.com"}, gvr: pods, text: `URL "example.com" does not begin with https://`},
		{name: "no scheme, but a port", conn: client.Connection{URL: "localhost:6443"}, gvr: pods, text: "the URL does not begin with https://"},
		{name: "other scheme", conn: client.Connection{URL: "unix:///run/x"}, gvr: pods, text: "does not begin with https://"},
		{name: "no host", conn: client.Connection{URL: "https:///x"}, gvr: pods, text: "host"},
		{name: "garbage URL", conn: client.Connection{URL: "http://[::1"}, gvr: pods, text: "missing ']'"},
		{name: "query", conn: client.Connection{URL: "https://u:secret@example.com/?a=b"}, gvr: pods, text: "query"},
		{name: "no resource", conn: good, gvr: schema.GroupVersionResource{Version: "v1"}, text: "no resource"},
		{name: "no version", conn: good, gvr: schema.GroupVersionResource{Resource: "pods"}, text: "no API version"},
		{name: "path in resource", conn: good, gvr: schema.GroupVersionResource{Version: "v1", Resource: "pods/log"}, text: "pods/log"},
		{name: "dots", conn: good, gvr: pods, opts: client.Options{Namespace: ".."}, text: `".."`},
		{name: "slash", conn: good, gvr: pods, opts: client.Options{Namespace: "a/b"}, text: "a/b"},
		{name: "labels", conn: good, gvr: pods, opts: client.Options{LabelSelector: "a=("}, text: "label selector"},
		{name: "fields", conn: good, gvr: pods, opts: client.Options{FieldSelector: "a"}, text: "field selector"},
	} {
		r, err := client.New(test.conn, kind.OfResource[*widget](test.gvr), test.opts)
		if err == nil || r != nil || !strings.Contains(err.Error(), test.text) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	rejects := func(what any, err error) {
		if err == nil || !strings.Contains(err.Error(), "must be a struct") {
			t.Errorf("%v: %v", what, err)
		}
	}
	_, err := client.New(good, kind.OfResource[any](widgets), client.Options{})
	rejects("New for any", err)
	for _, typ := range []reflect.Type{
		reflect.TypeFor[any](), reflect.TypeFor[metav1.Object](), reflect.TypeFor[**widget](), reflect.TypeFor[string](), reflect.TypeFor[[]widget](),
	} {
		rejects(typ, client.NewOfType(good, kind.OfResource[any](widgets), typ, client.Options{}))
	}
}

func TestResourceName(t *testing.T) {
	for _, test := range []struct {
		gvr  schema.GroupVersionResource
		opts client.Options
		want string
	}{
		{schema.GroupVersionResource{Version: "v1", Resource: "pods"}, client.Options{}, "pods"},
		{schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, client.Options{Namespace: "prod"}, "deployments.apps in namespace prod"},
	} {
		r, err := client.New(client.Connection{URL: "http://x"}, kind.OfResource[*widget](test.gvr), test.opts)
		if err != nil || r.Resource() != test.want {
			t.Errorf("%v, %v, want %s", r, err, test.want)
		}
	}
}

// recorder answers with one object, and keeps what was asked.
type recorder struct {
	method, path string
	query        map[string][]string
	header       http.Header
	body         string
}

func (rec *recorder) connection(prefix, answer string) client.Connection {
	conn := transport(func(req *http.Request) (*http.Response, error) {
		*rec = recorder{method: req.Method, path: req.URL.Path, query: req.URL.Query(), header: req.Header}
		if req.Body != nil {
			var b strings.Builder
			if _, err := io.Copy(&b, req.Body); err != nil {
				return nil, err
			}
			rec.body = b.String()
		}
		return response(strings.NewReader(answer)), nil
	}).connection()
	conn.URL += prefix
	return conn
}

func TestPaths(t *testing.T) {
	core := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	for _, test := range []struct {
		prefix    string
		gvr       schema.GroupVersionResource
		namespace string
		key       types.NamespacedName
		list, get string
	}{
		{"", core, "", types.NamespacedName{Namespace: "n", Name: "a"}, "/api/v1/pods", "/api/v1/namespaces/n/pods/a"},
		{"/", core, "n", types.NamespacedName{Name: "a"}, "/api/v1/namespaces/n/pods", "/api/v1/namespaces/n/pods/a"},
		{"", widgets, "", types.NamespacedName{Name: "a:b c"}, "/apis/example.com/v1/widgets", "/apis/example.com/v1/widgets/a:b c"},
		{"/k8s/clusters/c-1/", widgets, "", types.NamespacedName{Name: "a"}, "/k8s/clusters/c-1/apis/example.com/v1/widgets", "/k8s/clusters/c-1/apis/example.com/v1/widgets/a"},
	} {
		var rec recorder
		r, err := client.New(rec.connection(test.prefix, `{"metadata":{"name":"a"}}`), kind.OfResource[*plain](test.gvr), client.Options{Namespace: test.namespace})
		if err != nil {
			t.Fatal(err)
		}
		list(t.Context(), r, metav1.ListOptions{})
		if rec.path != test.list || rec.method != "GET" {
			t.Errorf("list: %s %s", rec.method, rec.path)
		}
		watch(t.Context(), r, metav1.ListOptions{})
		if rec.path != test.list || rec.query["watch"][0] != "true" {
			t.Errorf("watch: %s", rec.path)
		}
		if _, err := r.Get(t.Context(), test.key, metav1.GetOptions{}); err != nil || rec.path != test.get {
			t.Errorf("get: %s %v", rec.path, err)
		}
	}
}

func TestQuery(t *testing.T) {
	var rec recorder
	conn := rec.connection("", listJSON())
	conn.UserAgent = "me"
	r := newResource[*widget](t, conn, client.Options{LabelSelector: "app=web", FieldSelector: "spec.nodeName=n1"})
	yes, seconds := true, int64(300)
	opts := metav1.ListOptions{
		LabelSelector: "tier!=db", FieldSelector: "metadata.name=a", ResourceVersion: "5", ResourceVersionMatch: "NotOlderThan",
		Limit: 500, Continue: "tok", AllowWatchBookmarks: true, SendInitialEvents: &yes, TimeoutSeconds: &seconds, Watch: true,
	}
	want := map[string]string{
		"labelSelector": "app=web,tier!=db", "fieldSelector": "spec.nodeName=n1,metadata.name=a", "resourceVersion": "5",
		"resourceVersionMatch": "NotOlderThan", "limit": "500", "continue": "tok", "allowWatchBookmarks": "true",
		"sendInitialEvents": "true", "timeoutSeconds": "300",
	}
	check := func() {
		t.Helper()
		if len(rec.query) != len(want) || rec.header.Get("User-Agent") != "me" || rec.header.Get("Accept") != "application/json" {
			t.Error(rec.query, rec.header)
		}
		for k, v := range want {
			if got := rec.query[k]; len(got) != 1 || got[0] != v {
				t.Errorf("%s: %v, want %s", k, got, v)
			}
		}
	}
	list(t.Context(), r, opts)
	check()
	opts.Watch = false
	want["watch"] = "true"
	watch(t.Context(), r, opts)
	check()

	r = newResource[*widget](t, rec.connection("", listJSON()), client.Options{})
	list(t.Context(), r, metav1.ListOptions{})
	if len(rec.query) != 0 || rec.header.Get("User-Agent") != client.DefaultUserAgent {
		t.Error(rec.query, rec.header)
	}
}

// PartialObjectMetadata asks for metadata only, and takes whole objects as well.
func TestPartialObjectMetadata(t *testing.T) {
	const (
		one  = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1;q=0.9,application/vnd.kubernetes.protobuf;q=0.8,application/json;q=0.7"
		many = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1;q=0.9,application/vnd.kubernetes.protobuf;q=0.8,application/json;q=0.7"
		meta = `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a","resourceVersion":"3"}}`
	)
	var rec recorder
	for _, body := range []string{
		`{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"9"},"items":[` + meta + `]}`,
		listJSON(`{"metadata":{"name":"a","resourceVersion":"3"},"spec":{"size":"whatever"}}`),
	} {
		r := newNamed[*metav1.PartialObjectMetadata](t, rec.connection("", body), "Widget", client.Options{})
		got := list(t.Context(), r, metav1.ListOptions{})
		if got.err != nil || len(got.events) != 1 || rec.header.Get("Accept") != many {
			t.Fatal(got, rec.header)
		}
		if o := got.events[0].Object; o.Kind != "PartialObjectMetadata" || o.Name != "a" || got.events[0].ResourceVersion != "3" {
			t.Error(o)
		}
	}
	for _, object := range []string{meta, full(widgetJSON("a", 3, 3))} {
		r := newResource[*metav1.PartialObjectMetadata](t, rec.connection("", eventJSON("ADDED", object)+
			eventJSON("ADDED", `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x"}}`)), client.Options{})
		got := watch(t.Context(), r, metav1.ListOptions{})
		if got.err != nil || len(got.events) != 1 || len(got.errs) != 1 || rec.header.Get("Accept") != one {
			t.Fatal(got, rec.header)
		}
	}
	r := newResource[*metav1.PartialObjectMetadata](t, rec.connection("", meta), client.Options{})
	if p, err := r.Get(t.Context(), types.NamespacedName{Name: "a"}, metav1.GetOptions{}); err != nil || p.Name != "a" || rec.header.Get("Accept") != one {
		t.Error(p, err, rec.header)
	}
}
