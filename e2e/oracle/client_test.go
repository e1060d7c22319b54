package oracle_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/e2e/oracle"
)

// serve returns a client of a server that answers every request by handler.
func serve(t *testing.T, handler http.HandlerFunc) *oracle.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return &oracle.Client{URL: server.URL, HTTP: server.Client()}
}

func TestRequests(t *testing.T) {
	var got string
	api := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = fmt.Sprintf("%s %s %s %s", r.Method, r.URL, r.Header.Get("Content-Type"), body)
		fmt.Fprint(w, `{"metadata":{"name":"answer"}}`)
	})
	ctx := t.Context()
	obj := &corev1.ConfigMap{Data: map[string]string{"k": "v"}}
	const path = "/api/v1/namespaces/ns/configmaps/x"
	for _, tt := range []struct {
		want string
		do   func() (*corev1.ConfigMap, error)
	}{
		{`POST ` + path + ` application/json {"metadata":{},"data":{"k":"v"}}`,
			func() (*corev1.ConfigMap, error) { return oracle.Create(ctx, api, path, obj) }},
		{`PUT ` + path + ` application/json {"metadata":{},"data":{"k":"v"}}`,
			func() (*corev1.ConfigMap, error) { return oracle.Update(ctx, api, path, obj) }},
		{`GET ` + path + ` application/json `,
			func() (*corev1.ConfigMap, error) { return oracle.Get[corev1.ConfigMap](ctx, api, path) }},
		{`PATCH ` + path + ` application/merge-patch+json {"data":null}`,
			func() (*corev1.ConfigMap, error) {
				return oracle.Patch[corev1.ConfigMap](ctx, api, path, map[string]any{"data": nil})
			}},
	} {
		out, err := tt.do()
		if err != nil {
			t.Fatal(err)
		}
		if out.Name != "answer" {
			t.Errorf("%s: the answer was not decoded: %+v", tt.want, out)
		}
		if got != tt.want {
			t.Errorf("request\n%s, want\n%s", got, tt.want)
		}
	}
	if err := api.Delete(ctx, path); err != nil {
		t.Fatal(err)
	}
	if want := `DELETE ` + path + ` application/json {"gracePeriodSeconds":0}`; got != want {
		t.Errorf("request\n%s, want\n%s", got, want)
	}
}

func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		name string
		code int
		body string
		is   func(error) bool
		text string
	}{
		{"status", 409, `{"kind":"Status","message":"gone by","reason":"Conflict","code":409}`, apierrors.IsConflict, "gone by"},
		{"text", 429, "too many", apierrors.IsTooManyRequests, "too many"},
		{"other JSON", 404, `{"kind":"Pod"}`, apierrors.IsNotFound, "Pod"},
		{"empty", 503, "", apierrors.IsServiceUnavailable, "unable to handle"},
		{"garbage with success", 200, "{", func(err error) bool { return err != nil }, "unexpected end of JSON"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			api := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(tt.code)
				fmt.Fprint(w, tt.body)
			})
			_, err := oracle.Get[corev1.Pod](t.Context(), api, "/x")
			if !tt.is(err) || !strings.Contains(err.Error(), tt.text) || !strings.Contains(err.Error(), "GET /x") {
				t.Errorf("error %v", err)
			}
		})
	}
	api := &oracle.Client{URL: "http://127.0.0.1:1", HTTP: http.DefaultClient}
	if err := api.Do(t.Context(), http.MethodGet, "/x", nil, nil); err == nil {
		t.Error("no error without a server")
	}
	if err := api.Do(t.Context(), http.MethodPost, "/x", func() {}, nil); err == nil || !strings.Contains(err.Error(), "POST /x") {
		t.Errorf("error of a body without a JSON form: %v", err)
	}
}

func TestListReadsAllPages(t *testing.T) {
	var queries []string
	api := serve(t, func(w http.ResponseWriter, r *http.Request) {
		queries = append(queries, r.URL.RawQuery)
		switch r.URL.Query().Get("continue") {
		case "":
			fmt.Fprint(w, `{"metadata":{"resourceVersion":"7","continue":"p2"},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}`)
		case "p2":
			fmt.Fprint(w, `{"metadata":{"resourceVersion":"7","continue":"p3"},"items":[]}`)
		case "p3":
			fmt.Fprint(w, `{"metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"c"}}]}`)
		}
	})
	items, rv, err := oracle.List[corev1.Pod](t.Context(), api, "/pods", metav1.ListOptions{
		LabelSelector: "a=b", ResourceVersion: "5", ResourceVersionMatch: metav1.ResourceVersionMatchExact,
	})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, item := range items {
		names = append(names, item.Name)
	}
	if rv != "7" || !slices.Equal(names, []string{"a", "b", "c"}) {
		t.Errorf("List = %v at %s, want a b c at 7", names, rv)
	}
	want := []string{
		"labelSelector=a%3Db&limit=500&resourceVersion=5&resourceVersionMatch=Exact",
		"continue=p2&labelSelector=a%3Db&limit=500",
		"continue=p3&labelSelector=a%3Db&limit=500",
	}
	if !slices.Equal(queries, want) {
		t.Errorf("queries\n%s, want\n%s", strings.Join(queries, "\n"), strings.Join(want, "\n"))
	}
}

func TestPath(t *testing.T) {
	for _, tt := range []struct{ resource, namespace, name, want string }{
		{"pods", "", "", "/api/v1/pods"},
		{"pods", "ns", "", "/api/v1/namespaces/ns/pods"},
		{"pods", "ns", "p", "/api/v1/namespaces/ns/pods/p"},
		{"namespaces", "", "ns", "/api/v1/namespaces/ns"},
	} {
		if got := oracle.Path(tt.resource, tt.namespace, tt.name); got != tt.want {
			t.Errorf("Path(%q, %q, %q) = %q, want %q", tt.resource, tt.namespace, tt.name, got, tt.want)
		}
	}
}
