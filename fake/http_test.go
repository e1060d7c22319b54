package fake_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
)

// call sends one request in process and returns the answer. header holds pairs.
func call(t testing.TB, s *fake.Server, method, path, body string, header ...string) (int, string, http.Header) {
	t.Helper()
	r := must(http.NewRequestWithContext(t.Context(), method, fake.URL+path, strings.NewReader(body)))(t)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp := must(s.Client().Do(r))(t)
	defer resp.Body.Close()
	return resp.StatusCode, string(must(io.ReadAll(resp.Body))(t)), resp.Header
}

func TestHTTPLife(t *testing.T) {
	s := newServer(t, fake.Options{})
	pods := "/api/v1/namespaces/a/pods"
	code, body, header := call(t, s, "POST", pods, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},"spec":{"node":"n1"}}`)
	if code != 201 || !strings.HasPrefix(body, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","namespace":"a","uid":"`) || header.Get("Content-Type") != "application/json" {
		t.Fatalf("POST: %d %s %v", code, body, header)
	}
	if code, again, _ := call(t, s, "GET", pods+"/p", ""); code != 200 || again != body {
		t.Errorf("GET: %d %s", code, again)
	}
	if code, body, _ := call(t, s, "PUT", pods+"/p", `{"metadata":{"name":"p","resourceVersion":"2"},"spec":{"node":"n2"}}`); code != 200 || !strings.Contains(body, `"resourceVersion":"3","generation":2`) {
		t.Errorf("PUT: %d %s", code, body)
	}
	if code, body, _ := call(t, s, "PATCH", pods+"/p", `{"spec":{"node":null}}`, "Content-Type", "application/merge-patch+json"); code != 200 || !strings.HasSuffix(body, `"spec":{}}`) {
		t.Errorf("PATCH: %d %s", code, body)
	}
	if code, body, _ := call(t, s, "GET", "/api/v1/pods?labelSelector=!app", ""); code != 200 || !strings.HasPrefix(body, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"4"},"items":[{"metadata":{"name":"p","namespace":"a"`) {
		t.Errorf("LIST: %d %s", code, body)
	}
	if code, body, _ := call(t, s, "DELETE", pods+"/p", `{"preconditions":{"resourceVersion":"3"}}`); code != 409 {
		t.Errorf("DELETE with precondition: %d %s", code, body)
	}
	if code, body, _ := call(t, s, "PATCH", pods+"/p", `{"metadata":{"finalizers":["example.com/hold"]}}`, "Content-Type", "application/merge-patch+json"); code != 200 {
		t.Errorf("PATCH: %d %s", code, body)
	}
	if code, body, _ := call(t, s, "DELETE", pods+"/p", ""); code != 200 || !strings.Contains(body, `"resourceVersion":"6","generation":4,`) || !strings.Contains(body, `"deletionTimestamp":"`) {
		t.Errorf("DELETE with finalizer: %d %s", code, body)
	}
	if code, body, _ := call(t, s, "PATCH", pods+"/p", `{"metadata":{"finalizers":null}}`, "Content-Type", "application/merge-patch+json"); code != 200 {
		t.Errorf("PATCH: %d %s", code, body)
	}
	if code, body, _ := call(t, s, "POST", pods, `{"metadata":{"name":"p"}}`); code != 201 {
		t.Errorf("POST: %d %s", code, body)
	}
	if code, body, _ := call(t, s, "DELETE", pods+"/p", ""); code != 200 || !strings.Contains(body, `"resourceVersion":"10","generation":2,`) || !strings.Contains(body, `"deletionGracePeriodSeconds":0`) {
		t.Errorf("DELETE: %d %s", code, body)
	}
	if code, body, _ := call(t, s, "GET", pods, ""); body != `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"10"},"items":[]}`+"\n" {
		t.Errorf("LIST: %d %s", code, body)
	}
}

func TestHTTPCustomResource(t *testing.T) {
	s := newServer(t, fake.Options{})
	path := "/apis/example.com/v1/namespaces/a/widgets"
	code, body, _ := call(t, s, "POST", path, `{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"w"},"size":9007199254740993}`)
	if code != 201 || !strings.HasPrefix(body, `{"kind":"Widget","apiVersion":"example.com/v1","metadata"`) || !strings.Contains(body, "9007199254740993") {
		t.Fatalf("POST: %d %s", code, body)
	}
	if _, list, _ := call(t, s, "GET", path, ""); !strings.Contains(list, `"items":[`+body+`]`) {
		t.Errorf("LIST leaves the kind out: %s", list)
	}
	_, part, _ := call(t, s, "GET", path, "", "Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json")
	if !strings.HasPrefix(part, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1"`) || strings.Contains(part, "size") {
		t.Errorf("metadata alone: %s", part)
	}
}

func TestHTTPWatchFrames(t *testing.T) { synctest.Test(t, httpWatchFrames) }

func httpWatchFrames(t *testing.T) {
	s := prepare(t, fake.Options{})
	code, body, _ := call(t, s, "GET", "/api/v1/namespaces/b/pods?watch=1&resourceVersion=2&timeoutSeconds=1&allowWatchBookmarks=true", "")
	lines := strings.Split(strings.TrimSpace(body), "\n")
	want := []string{`{"type":"ADDED","object":{"kind":"Pod"`, `{"type":"MODIFIED","object":{"kind":"Pod"`, `{"type":"DELETED","object":{"kind":"Pod"`,
		`{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"6"}}}`}
	if code != 200 || len(lines) != len(want) {
		t.Fatalf("%d\n%s", code, body)
	}
	for i := range want {
		if !strings.HasPrefix(lines[i], want[i]) {
			t.Errorf("frame %s, want %s", lines[i], want[i])
		}
	}
}

func TestHTTPRefusals(t *testing.T) {
	s := prepare(t, fake.Options{})
	pods, p := "/api/v1/namespaces/a/pods", "/api/v1/namespaces/a/pods/p"
	merge := []string{"Content-Type", "application/merge-patch+json"}
	for _, c := range []struct {
		method, path, body string
		header             []string
		code               int
		reason             metav1.StatusReason
	}{
		{"GET", "/index", "", nil, 404, ""},
		{"GET", "/metrics", "", nil, 404, ""},
		{"GET", "/apis/none.example.com/v1/things", "", nil, 404, ""},
		{"GET", "/api/v1//pods", "", nil, 404, ""},
		{"GET", "/api/v1/things", "", nil, 404, "NotFound"},
		{"GET", "/api/v1/pods/p", "", nil, 404, "NotFound"},
		{"GET", "/api/v1/namespaces/a/nodes", "", nil, 404, "NotFound"},
		{"GET", "/api/v1/namespaces/a", "", nil, 404, "NotFound"},
		{"GET", p + "/log", "", nil, 404, "NotFound"},
		{"GET", pods + "/none", "", nil, 404, "NotFound"},
		{"GET", p + "?resourceVersion=99", "", nil, 504, "Timeout"},
		{"GET", p + "?resourceVersion=x", "", nil, 400, "BadRequest"},
		{"GET", pods + "?limit=x", "", nil, 400, "BadRequest"},
		{"GET", pods + "?labelSelector=a+in", "", nil, 400, "BadRequest"},
		{"GET", pods + "?watch=true&fieldSelector=spec.node=n", "", nil, 400, "BadRequest"},
		{"GET", pods, "", []string{"Accept", "application/vnd.kubernetes.protobuf"}, 406, "NotAcceptable"},
		{"POST", "/api/v1/pods", "{}", nil, 405, "MethodNotAllowed"},
		{"POST", p, "{}", nil, 405, "MethodNotAllowed"},
		{"PUT", pods, "{}", nil, 405, "MethodNotAllowed"},
		{"DELETE", "/api/v1/pods", "", nil, 405, "MethodNotAllowed"},
		{"OPTIONS", p, "", nil, 405, "MethodNotAllowed"},
		{"POST", "/version", "", nil, 405, "MethodNotAllowed"},
		{"POST", pods, "{", nil, 400, "BadRequest"},
		{"POST", pods, `{"spec":7}`, nil, 400, "BadRequest"},
		{"POST", pods, "", nil, 400, "BadRequest"},
		{"POST", pods, "null", nil, 422, "Invalid"},
		{"POST", pods, `{"kind":"Widget"}`, nil, 400, "BadRequest"},
		{"POST", pods, `{"metadata":{"name":"q","namespace":"b"}}`, nil, 400, "BadRequest"},
		{"POST", pods, `{"metadata":{"name":"p"}}`, nil, 409, "AlreadyExists"},
		{"POST", pods + "?dryRun=Some", `{"metadata":{"name":"q"}}`, nil, 422, "Invalid"},
		{"POST", pods, "a: b", []string{"Content-Type", "application/xml"}, 415, "UnsupportedMediaType"},
		{"POST", pods, `"` + strings.Repeat("x", 3<<20) + `"`, nil, 413, "RequestEntityTooLarge"},
		{"PUT", p, `{"metadata":{"name":"q"}}`, nil, 400, "BadRequest"},
		{"PUT", pods + "/q", `{"metadata":{"name":"q"}}`, nil, 404, "NotFound"},
		{"PUT", p, `{"metadata":{"name":"p","resourceVersion":"2"}}`, nil, 409, "Conflict"},
		{"PATCH", p, `{}`, nil, 415, "UnsupportedMediaType"},
		{"PATCH", p, `[]`, merge, 400, "BadRequest"},
		{"PATCH", pods + "/none", `{}`, merge, 404, "NotFound"},
		{"DELETE", p, `{"preconditions":{"uid":"other"}}`, nil, 409, "Conflict"},
		{"DELETE", p, `{"dryRun":["Some"]}`, nil, 422, "Invalid"},
		{"DELETE", p, `7`, nil, 400, "BadRequest"},
		{"DELETE", pods + "/none", "", nil, 404, "NotFound"},
	} {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			code, body, header := call(t, s, c.method, c.path, c.body, c.header...)
			if c.reason == "" {
				if code != c.code || body != "404 page not found\n" {
					t.Errorf("%d %s, want %d as text", code, body, c.code)
				}
				return
			}
			var status metav1.Status
			check(t, json.Unmarshal([]byte(body), &status))
			if code != c.code || status.Reason != c.reason || status.Kind != "Status" || int(status.Code) != code || status.Message == "" {
				t.Errorf("%d %s, want %d %s", code, body, c.code, c.reason)
			}
			if status.Details != nil && status.Details.RetryAfterSeconds > 0 && header.Get("Retry-After") != fmt.Sprint(status.Details.RetryAfterSeconds) {
				t.Errorf("Retry-After %q", header.Get("Retry-After"))
			}
		})
	}
	if s.ResourceVersion() != "6" {
		t.Error("a refused request wrote")
	}
}

// TestLikeTheRecordings compares refusals with what a real API server was recorded to
// send, byte for byte but for numbers and tokens that differ from run to run.
func TestLikeTheRecordings(t *testing.T) {
	type configMap struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
	}
	s := fake.New(fake.Options{})
	check(t, fake.Register(s, kind.Of[*configMap](v1, "configmaps"), fake.Rules{}))
	check(t, fake.Register(s, kind.Of[*metav1.PartialObjectMetadata](v1, "namespaces").Named("Namespace").Cluster(), fake.Rules{}))
	for i := range 6 {
		must(fake.Create(s, &configMap{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: fmt.Sprintf("cm-%05d", i)}}))(t)
	}
	path := "/api/v1/namespaces/demo/configmaps"
	var page struct{ Metadata metav1.ListMeta }
	_, body, _ := call(t, s, "GET", path+"?limit=5", "")
	check(t, json.Unmarshal([]byte(body), &page))
	must(fake.Delete[*configMap](s, key("demo", "cm-00000")))(t)
	check(t, s.Compact(s.ResourceVersion()))
	for _, c := range []struct{ file, method, path, body string }{
		{"error-404.json", "GET", path + "/missing", ""},
		{"error-404-resource.json", "GET", "/api/v1/things", ""},
		{"error-404-group.txt", "GET", "/apis/missing.example.com/v1/things", ""},
		{"error-405.json", "DELETE", "/api/v1/namespaces", ""},
		{"error-400-version.json", "GET", path + "?resourceVersion=newest", ""},
		{"error-409-exists.json", "POST", path, `{"metadata":{"name":"cm-00004"}}`},
		{"error-409-conflict.json", "PUT", path + "/cm-00004", `{"metadata":{"name":"cm-00004","resourceVersion":"1"}}`},
		{"error-410-exact.json", "GET", path + "?resourceVersion=3&resourceVersionMatch=Exact", ""},
		{"error-410-continue.json", "GET", path + "?limit=5&continue=" + page.Metadata.Continue, ""},
		{"error-504-version.json", "GET", path + "?resourceVersion=1000000000&resourceVersionMatch=NotOlderThan", ""},
		{"watch-expired-cache.json", "GET", path + "?watch=true&resourceVersion=3", ""},
	} {
		recorded := string(must(os.ReadFile(filepath.Join("..", "client", "testdata", c.file)))(t))
		_, got, _ := call(t, s, c.method, c.path, c.body)
		if d := cmp.Diff(neutral(recorded), neutral(got)); d != "" {
			t.Errorf("%s (-recorded +fake):\n%s", c.file, d)
		}
	}
}

var varying = regexp.MustCompile(`(version: |current: |\()[0-9]+|"continue":"[^"]*"`)

func neutral(body string) string {
	return strings.TrimSpace(varying.ReplaceAllString(body, "$1#"))
}

func TestDiscovery(t *testing.T) {
	s := newServer(t, fake.Options{})
	for path, want := range map[string]string{
		"/version":              `"gitVersion":"v1.37`,
		"/healthz":              `ok`,
		"/readyz":               `ok`,
		"/api":                  `"versions":["v1"]`,
		"/apis":                 `"groups":[{"name":"example.com","versions":[{"groupVersion":"example.com/v1","version":"v1"}]`,
		"/apis/example.com":     `{"kind":"APIGroup","apiVersion":"v1","name":"example.com"`,
		"/api/v1":               `{"name":"nodes","singularName":"node","namespaced":false,"kind":"Node","verbs":["create","delete","deletecollection","get","list","patch","update","watch"]}`,
		"/apis/example.com/v1/": `"groupVersion":"example.com/v1","resources":[{"name":"widgets","singularName":"widget","namespaced":true`,
	} {
		if code, body, _ := call(t, s, "GET", path, ""); code != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s, want %s", path, code, body, want)
		}
	}
	for _, path := range []string{"/apis/other.example.com", "/apis/example.com/v2", "/api/v2"} {
		if code, _, _ := call(t, s, "GET", path, ""); code != 404 {
			t.Errorf("%s: %d", path, code)
		}
	}
}

// TestOverSockets runs the handler as net/http does: a watch must arrive event by event,
// and a dropped one as a broken connection.
func TestOverSockets(t *testing.T) {
	s := newServer(t, fake.Options{})
	server := httptest.NewServer(s)
	defer server.Close()
	resp := must(server.Client().Get(server.URL + "/api/v1/pods?watch=true&resourceVersion=1"))(t)
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	for i := range 3 {
		name := fmt.Sprintf("p%d", i)
		must(fake.Create(s, newPod("a", name)))(t)
		if line := must(lines.ReadString('\n'))(t); !strings.Contains(line, `"name":"`+name+`"`) {
			t.Fatalf("event %s, want %s", line, name)
		}
	}
	s.DropWatches()
	if line, err := lines.ReadString('\n'); err != io.ErrUnexpectedEOF {
		t.Errorf("after a drop: %q, %v", line, err)
	}
}

// A handler must not write to the request, which its sender may be closing.
func TestRequestIsLeftAlone(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "/version", nil)
	body := r.Body
	fake.New(fake.Options{}).ServeHTTP(httptest.NewRecorder(), r)
	if r.Body != body {
		t.Error("the request has another body")
	}
}
