package fake_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/fake"
)

// size is a form of pods that shows the number of their ports.
type size struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Ports             int `json:"ports"`
}

var sizeKind = schema.GroupVersionKind{Group: "sizes.example.com", Version: "v2", Kind: "size"}

func withSubresources(t *testing.T) (*fake.Server, func(method, path, body string, headers ...string) (int, string)) {
	t.Helper()
	s := fake.New(fake.Options{})
	check(t, fake.Define(s, fake.Definition[*pod]{Kind: podKind, Hooks: fake.Hooks[*pod]{Subresources: map[string]fake.SubresourceHook[*pod]{
		"size": fake.View(sizeKind, func(p *pod) (*size, error) {
			return &size{ObjectMeta: metav1.ObjectMeta{Name: p.Name, ResourceVersion: p.ResourceVersion}, Ports: len(p.Spec.Ports)}, nil
		}, func(p *pod, sent *size) error {
			if sent.Ports < 0 {
				return apierrors.NewBadRequest("less than nothing")
			}
			p.Spec.Ports = make([]int64, sent.Ports)
			p.Status.Phase = "Resized"
			return nil
		}),
		"look": fake.View[*pod, *size](sizeKind, func(p *pod) (*size, error) { return nil, errors.New("hidden") }, nil),
		"stop": fake.Action(sizeKind, func(_ context.Context, p *pod, _ *size, dryRun bool) (metav1.Object, error) {
			if dryRun {
				return nil, nil
			}
			_, err := fake.Delete[*pod](s, key(p.Namespace, p.Name))
			return nil, err
		}),
		"checked": fake.Action(sizeKind, func(_ context.Context, _ *pod, sent *size, _ bool) (metav1.Object, error) { return sent, nil }).Checked(
			func(sent metav1.Object, name string, dryRun bool) error {
				if sent.(*size).Ports == 0 {
					return apierrors.NewBadRequest(fmt.Sprintf("no ports of %s, dry run %v", name, dryRun))
				}
				return nil
			}),
		"echo": fake.Action(sizeKind, func(_ context.Context, _ *pod, sent *size, _ bool) (metav1.Object, error) { return sent, nil }),
		"note": fake.Text(sizeKind, func(_ context.Context, p *pod, query url.Values) (string, error) {
			if query.Has("refuse") {
				return "", apierrors.NewBadRequest("refused")
			}
			return query.Get("word"), nil
		}),
	}}}))
	return s, func(method, path, body string, headers ...string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, fake.URL+path, bytes.NewBufferString(body))
		check(t, err)
		r.Header.Set("Content-Type", "application/json")
		for i := 0; i+1 < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		resp, err := s.Client().Do(r)
		check(t, err)
		defer func() { _ = resp.Body.Close() }()
		b, err := io.ReadAll(resp.Body)
		check(t, err)
		return resp.StatusCode, string(b)
	}
}

const sizePath = "/api/v1/namespaces/a/pods/x/size"

func TestText(t *testing.T) {
	s, call := withSubresources(t)
	must(fake.Create(s, newPod("a", "x")))(t)
	const path = "/api/v1/namespaces/a/pods/x/note"
	for _, c := range []struct {
		method, path string
		code         int
		body         string
	}{
		{"GET", path + "?word=hello", 200, "hello"},
		{"GET", path, 204, ""},
		{"GET", path + "?refuse", 400, `"message":"refused"`},
		{"GET", "/api/v1/namespaces/a/pods/y/note", 404, `pods \"y\" not found`},
		{"POST", path, 405, "MethodNotAllowed"},
		{"PATCH", path, 405, "MethodNotAllowed"},
	} {
		if code, body := call(c.method, c.path, "{}", "Accept", "application/json"); code != c.code || !strings.Contains(body, c.body) {
			t.Errorf("%s %s: %d %s", c.method, c.path, code, body)
		}
	}
}

func TestView(t *testing.T) {
	s, send := withSubresources(t)
	must(fake.Create(s, newPod("a", "x")))(t)
	ports := func() (int, string) {
		t.Helper()
		code, body := send("GET", sizePath, "")
		var got size
		if err := json.Unmarshal([]byte(body), &got); err != nil || code != 200 || got.Kind != "size" || got.APIVersion != "sizes.example.com/v2" {
			t.Fatalf("%d %s", code, body)
		}
		return got.Ports, got.ResourceVersion
	}
	for i, c := range []struct{ method, body, contentType string }{
		{"PUT", `{"kind":"size","apiVersion":"sizes.example.com/v2","metadata":{"name":"x"},"ports":1}`, "application/json"},
		{"PATCH", `{"ports":2}`, "application/merge-patch+json"},
		{"PATCH", `[{"op":"replace","path":"/ports","value":3}]`, "application/json-patch+json"},
		{"PATCH", `{"ports":4}`, "application/strategic-merge-patch+json"},
	} {
		if code, body := send(c.method, sizePath, c.body, "Content-Type", c.contentType); code != 200 {
			t.Errorf("%s %s: %d %s", c.method, c.body, code, body)
		}
		if n, _ := ports(); n != i+1 {
			t.Errorf("%s %s: %d ports", c.method, c.body, n)
		}
	}
	if p := must(fake.Get[*pod](s, key("a", "x")))(t); p.Status.Phase != "Resized" || len(p.Spec.Ports) != 4 {
		t.Errorf("the object is %+v", p)
	}
	_, rv := ports()
	if code, body := send("PATCH", sizePath+"?dryRun=All", `{"ports":9}`, "Content-Type", "application/merge-patch+json"); code != 200 || !strings.Contains(body, `"ports":9`) {
		t.Errorf("dry run: %d %s", code, body)
	}
	if n, now := ports(); n != 4 || now != rv {
		t.Errorf("a dry run wrote %d ports", n)
	}
}

func TestViewRefuses(t *testing.T) {
	s, send := withSubresources(t)
	must(fake.Create(s, newPod("a", "x")))(t)
	for _, c := range []struct {
		method, path, body string
		want               int
	}{
		{"GET", "/api/v1/namespaces/a/pods/gone/size", "", 404},
		{"GET", "/api/v1/namespaces/a/pods/x/colour", "", 404},
		{"GET", "/api/v1/namespaces/a/pods/x/look", "", 500},
		{"GET", "/api/v1/namespaces/a/pods/x/stop", "", 405},
		{"PUT", "/api/v1/namespaces/a/pods/x/look", `{"metadata":{"name":"x"}}`, 405},
		{"POST", sizePath, `{}`, 405},
		{"DELETE", sizePath, "", 405},
		{"PUT", sizePath, `{"metadata":{"name":"y"}}`, 400},
		{"PUT", sizePath, `{"metadata":{"name":"x","resourceVersion":"1"}}`, 409},
		{"PUT", sizePath, `{"kind":"Pod","metadata":{"name":"x"}}`, 400},
		{"PUT", sizePath, `{"metadata":{"name":"x"},"ports":-1}`, 400},
		{"PUT", sizePath, `{"metadata":{"name":"x"},"ports":"many"}`, 400},
		{"PUT", sizePath, `[`, 400},
		{"PATCH", sizePath, `{`, 415}, // its Content-Type is no patch's
		{"POST", "/api/v1/namespaces/a/pods/gone/stop", `{}`, 404},
		{"POST", "/api/v1/namespaces/a/pods/x/stop", `[`, 400},
	} {
		if code, body := send(c.method, c.path, c.body); code != c.want {
			t.Errorf("%s %s %s: %d %s, want %d", c.method, c.path, c.body, code, body, c.want)
		}
	}
	for _, bad := range []map[string]fake.SubresourceHook[*pod]{
		{"status": fake.View(sizeKind, func(*pod) (*size, error) { return nil, nil }, nil)},
		{"a/b": fake.View(sizeKind, func(*pod) (*size, error) { return nil, nil }, nil)},
		{"zero": {}},
	} {
		if err := fake.Define(s, fake.Definition[*pod]{Kind: podKind, Hooks: fake.Hooks[*pod]{Subresources: bad}}); !errors.Is(err, fake.ErrResource) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

func TestAction(t *testing.T) {
	s, send := withSubresources(t)
	must(fake.Create(s, newPod("a", "x")))(t)
	if code, body := send("POST", "/api/v1/namespaces/a/pods/x/echo", `{"ports":7}`); code != 201 || !strings.Contains(body, `"ports":7`) {
		t.Errorf("echo: %d %s", code, body)
	}
	for path, c := range map[string]struct {
		body, want string
		code       int
	}{
		"x/checked":               {`{"ports":7}`, `"ports":7`, 201},
		"none/checked":            {`{"ports":7}`, "not found", 404},
		"none/checked?dryRun=All": {`{}`, "no ports of none, dry run true", 400},
	} {
		if code, body := send("POST", "/api/v1/namespaces/a/pods/"+path, c.body); code != c.code || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	if code, _ := send("POST", "/api/v1/namespaces/a/pods/x/stop?dryRun=All", `{}`); code != 201 || len(must(fake.List[*pod](s, fake.Selection{}))(t)) != 1 {
		t.Errorf("a dry run: %d", code)
	}
	if code, body := send("POST", "/api/v1/namespaces/a/pods/x/stop", `{}`); code != 201 || !strings.Contains(body, "Success") || len(must(fake.List[*pod](s, fake.Selection{}))(t)) != 0 {
		t.Errorf("stop: %d %s", code, body)
	}
}

func TestDiscoveryShowsSubresources(t *testing.T) {
	_, send := withSubresources(t)
	_, body := send("GET", "/api/v1", "")
	var list metav1.APIResourceList
	check(t, json.Unmarshal([]byte(body), &list))
	var got []string
	for _, r := range list.APIResources {
		got = append(got, strings.TrimSpace(r.Name+" "+r.Group+" "+r.Version+" "+r.Kind+" "+strings.Join(r.Verbs, ",")))
	}
	want := []string{
		"pods   Pod create,delete,deletecollection,get,list,patch,update,watch",
		"pods/checked sizes.example.com v2 size create",
		"pods/echo sizes.example.com v2 size create",
		"pods/look sizes.example.com v2 size get",
		"pods/note sizes.example.com v2 size get",
		"pods/size sizes.example.com v2 size get,patch,update",
		"pods/status   Pod get,patch,update",
		"pods/stop sizes.example.com v2 size create",
	}
	if !slices.Equal(got, want) {
		t.Errorf("discovery has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if code, body := send("GET", "/apis/sizes.example.com", ""); code != 404 {
		t.Errorf("the group of a subresource: %d %s", code, body)
	}
}

// TestWarnings: members that the type does not have are reported to the client, unless it asks for
// silence.
func TestWarnings(t *testing.T) {
	s, _ := withSubresources(t)
	warnings := func(method, path, contentType, body string) (int, []string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, fake.URL+path, strings.NewReader(body))
		check(t, err)
		r.Header.Set("Content-Type", contentType)
		resp, err := s.Client().Do(r)
		check(t, err)
		_ = resp.Body.Close()
		return resp.StatusCode, resp.Header.Values("Warning")
	}
	const pods = "/api/v1/namespaces/a/pods"
	for _, c := range []struct {
		query string
		code  int
		want  []string
	}{
		{"", 201, []string{`299 - "unknown field \"spec.colour\""`}},
		{"&fieldValidation=Warn", 201, []string{`299 - "unknown field \"spec.colour\""`}},
		{"&fieldValidation=Ignore", 201, nil},
		{"&fieldValidation=Strict", 400, nil},
	} {
		code, got := warnings("POST", pods+"?dryRun=All"+c.query, "application/json", `{"kind":"Pod","metadata":{"name":"x"},"spec":{"colour":"red"}}`)
		if code != c.code || !slices.Equal(got, c.want) {
			t.Errorf("create %s: %d %q, want %d %q", c.query, code, got, c.code, c.want)
		}
	}
	must(fake.Create(s, newPod("a", "x")))(t)
	if code, got := warnings("PATCH", pods+"/x", "application/merge-patch+json", `{"spec":{"colour":"red","node":"n"}}`); code != 200 || len(got) != 1 {
		t.Errorf("patch: %d %q", code, got)
	}
	if code, got := warnings("PATCH", sizePath, "application/merge-patch+json", `{"prots":1}`); code != 200 || !slices.Equal(got, []string{`299 - "unknown field \"prots\""`}) {
		t.Errorf("patch of a form: %d %q", code, got)
	}
}

// withOwnObjects has subresources whose hooks answer with the object itself.
func withOwnObjects(t *testing.T, opts fake.Options) (*fake.Server, func(method, path, body string) (int, string)) {
	t.Helper()
	s := fake.New(opts)
	check(t, fake.Define(s, fake.Definition[*pod]{Kind: podKind, Hooks: fake.Hooks[*pod]{Subresources: map[string]fake.SubresourceHook[*pod]{
		"self":   fake.Action(sizeKind, func(_ context.Context, p *pod, _ *size, _ bool) (metav1.Object, error) { return p, nil }),
		"mirror": fake.View(sizeKind, func(p *pod) (*pod, error) { return p, nil }, func(p, sent *pod) error { p.Spec = sent.Spec; return nil }),
		"size": fake.View(sizeKind, func(p *pod) (*size, error) {
			return &size{ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace, UID: p.UID}, Ports: len(p.Spec.Ports)}, nil
		}, func(p *pod, sent *size) error { p.Spec.Ports = make([]int64, sent.Ports); return nil }),
		"none": fake.View(sizeKind, func(*pod) (*size, error) { return nil, nil }, nil),
	}}}))
	must(fake.Create(s, newPod("a", "x")))(t)
	return s, func(method, path, body string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, fake.URL+path, strings.NewReader(body))
		check(t, err)
		r.Header.Set("Content-Type", "application/json")
		if method == http.MethodPatch {
			r.Header.Set("Content-Type", "application/merge-patch+json")
		}
		resp, err := s.Client().Do(r)
		check(t, err)
		defer func() { _ = resp.Body.Close() }()
		b, err := io.ReadAll(resp.Body)
		check(t, err)
		return resp.StatusCode, string(b)
	}
}

// TestSubresourceOfOwnObject: a hook that answers with the server's own object does not change it.
func TestSubresourceOfOwnObject(t *testing.T) {
	s, send := withOwnObjects(t, fake.Options{})
	for _, path := range []string{"self", "mirror"} {
		method := map[string]string{"self": "POST", "mirror": "GET"}[path]
		if code, body := send(method, "/api/v1/namespaces/a/pods/x/"+path, `{}`); code/100 != 2 || !strings.Contains(body, `"kind":"size"`) {
			t.Errorf("%s: %d %s", path, code, body)
		}
		if p := must(fake.Get[*pod](s, key("a", "x")))(t); p.Kind != "Pod" {
			t.Errorf("%s: the pod is a %s now", path, p.Kind)
		}
	}
	if code, body := send("GET", "/api/v1/namespaces/a/pods/x/none", ""); code != 500 {
		t.Errorf("a view of nothing: %d %s", code, body)
	}
}

// TestSubresourceOfOther: what is sent for another object is refused.
func TestSubresourceOfOther(t *testing.T) {
	s, send := withOwnObjects(t, fake.Options{})
	uid := must(fake.Get[*pod](s, key("a", "x")))(t).UID
	for _, c := range []struct {
		method, path, meta string
		want               int
	}{
		{"PUT", "size", `"namespace":"b"`, 400},
		{"PUT", "size", `"uid":"other"`, 409},
		{"PUT", "size", `"namespace":"a","uid":"` + string(uid) + `"`, 200},
		{"POST", "self", `"namespace":"b"`, 400},
		{"POST", "self", `"namespace":"a"`, 201},
		{"PATCH", "size", `"namespace":"b"`, 400},
		{"PATCH", "size", `"name":"y"`, 400},
	} {
		if code, body := send(c.method, "/api/v1/namespaces/a/pods/x/"+c.path, `{"metadata":{"name":"x",`+c.meta+`}}`); code != c.want {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.meta, code, body)
		}
	}
}

// TestActionAdmission: the hooks of the server are asked about what a client posts, even in a dry
// run.
func TestActionAdmission(t *testing.T) {
	var asked []string
	var refuse error
	note := func(phase string) func(context.Context, *fake.Admission) error {
		return func(_ context.Context, a *fake.Admission) error {
			asked = append(asked, fmt.Sprintf("%s %s %s %s/%s %T old=%v dry=%t", phase, a.Verb, a.Key, a.Kind.Kind, a.Subresource, a.Object, a.Old, a.DryRun))
			if phase == "mutate" {
				a.Object.(*size).Ports = 5
			}
			return refuse
		}
	}
	s := fake.New(fake.Options{Mutate: note("mutate"), Validate: note("validate")})
	got := 0
	check(t, fake.Define(s, fake.Definition[*pod]{Kind: podKind, Hooks: fake.Hooks[*pod]{Subresources: map[string]fake.SubresourceHook[*pod]{
		"do": fake.Action(sizeKind, func(_ context.Context, _ *pod, sent *size, _ bool) (metav1.Object, error) {
			got += sent.Ports
			return nil, nil
		}),
	}}}))
	must(fake.Create(s, newPod("a", "x")))(t)
	for _, c := range []struct {
		query     string
		refuse    error
		want, did int
	}{{"", nil, 201, 5}, {"?dryRun=All", nil, 201, 10}, {"", errors.New("no"), 403, 10}} {
		asked, refuse = nil, c.refuse
		resp, err := s.Client().Post(fake.URL+"/api/v1/namespaces/a/pods/x/do"+c.query, "application/json", strings.NewReader(`{}`))
		check(t, err)
		_ = resp.Body.Close()
		dry := c.query != ""
		want := []string{
			fmt.Sprintf("mutate create a/x size/do *fake_test.size old=<nil> dry=%t", dry), fmt.Sprintf("validate create a/x size/do *fake_test.size old=<nil> dry=%t", dry),
		}
		if c.refuse != nil {
			want = want[:1]
		}
		if resp.StatusCode != c.want || got != c.did || !slices.Equal(asked, want) {
			t.Errorf("%s %v: %d, did %d, asked %q, want %q", c.query, c.refuse, resp.StatusCode, got, asked, want)
		}
	}
}

// TestWarningsAreShort: a warning comes once, and many long ones do not burst the header.
func TestWarningsAreShort(t *testing.T) {
	s := fake.New(fake.Options{})
	tries := 0
	check(t, fake.Define(s, fake.Definition[*pod]{Kind: podKind, Hooks: fake.Hooks[*pod]{Default: func(p *pod) {
		if tries++; tries < 4 && p.Name == "x" && p.Spec.Node == "n" {
			must(fake.Patch[*pod](s, key("a", "x"), fmt.Appendf(nil, `{"metadata":{"labels":{"n":"%d"}},"spec":{"node":"m%d"}}`, tries, tries)))(t)
		}
	}}}))
	must(fake.Create(s, newPod("a", "x")))(t)
	tries = 0
	patch, err := http.NewRequestWithContext(t.Context(), "PATCH", fake.URL+"/api/v1/namespaces/a/pods/x", strings.NewReader(`{"spec":{"colour":"red","node":"n"}}`))
	check(t, err)
	patch.Header.Set("Content-Type", "application/merge-patch+json")
	var many strings.Builder
	for i := range 100 {
		fmt.Fprintf(&many, `,"m%d%s":1`, i, strings.Repeat("x", 10_000))
	}
	post, err := http.NewRequestWithContext(t.Context(), "POST", fake.URL+"/api/v1/namespaces/a/pods", strings.NewReader(`{"metadata":{"name":"y"}`+many.String()+`}`))
	check(t, err)
	for r, most := range map[*http.Request]int{patch: 1, post: 100} {
		resp, err := s.Client().Do(r)
		check(t, err)
		_ = resp.Body.Close()
		sum, got := 0, resp.Header.Values("Warning")
		for _, text := range got {
			sum += len(text)
		}
		if resp.StatusCode/100 != 2 || len(got) == 0 || len(got) > most || sum > 8<<10 {
			t.Errorf("%s: %d, %d warnings of %d bytes", r.Method, resp.StatusCode, len(got), sum)
		}
	}
}

// TestViewAdmission: the hooks of the server see the form, as the client sent it in each attempt.
func TestViewAdmission(t *testing.T) {
	var s *fake.Server
	var asked []string
	ports := func(o metav1.Object) int { return o.(*size).Ports }
	note := func(phase string) func(context.Context, *fake.Admission) error {
		return func(_ context.Context, a *fake.Admission) error {
			asked = append(asked, fmt.Sprintf("%s %s %s %s/%s %d>%d", phase, a.Verb, a.Key, a.Kind.Kind, a.Subresource, ports(a.Old), ports(a.Object)))
			if phase == "mutate" {
				a.Object.(*size).Ports++
			}
			if len(asked) == 1 { // another write comes between
				must(fake.Patch[*pod](s, key("a", "x"), []byte(`{"metadata":{"labels":{"l":"`+fmt.Sprint(s.ResourceVersion())+`"}}}`)))(t)
			}
			if ports(a.Object) > 50 {
				return errors.New("too many")
			}
			return nil
		}
	}
	s, send := withOwnObjects(t, fake.Options{Mutate: note("mutate"), Validate: note("validate")})
	for _, c := range []struct {
		method, body string
		code, want   int
		asked        []string
	}{
		{"PUT", `{"metadata":{"name":"x"},"ports":3}`, 200, 4, []string{
			"mutate update a/x size/size 0>3", "validate update a/x size/size 0>4", "mutate update a/x size/size 0>3", "validate update a/x size/size 0>4",
		}},
		{"PATCH", `{"ports":7}`, 200, 8, []string{
			"mutate update a/x size/size 4>7", "validate update a/x size/size 4>8", "mutate update a/x size/size 4>7", "validate update a/x size/size 4>8",
		}},
		{"PUT", `{"metadata":{"name":"x"},"ports":60}`, 403, 8, nil},
	} {
		asked = nil
		code, body := send(c.method, sizePath, c.body)
		got := len(must(fake.Get[*pod](s, key("a", "x")))(t).Spec.Ports)
		if code != c.code || got != c.want || c.asked != nil && !slices.Equal(asked, c.asked) {
			t.Errorf("%s %s: %d %s, %d ports, asked\n%s", c.method, c.body, code, body, got, strings.Join(asked, "\n"))
		}
	}
}

// TestSubresourceBodies: bodies of subresources follow the same rules as bodies of objects.
func TestSubresourceBodies(t *testing.T) {
	_, send := withOwnObjects(t, fake.Options{})
	const strict = "?fieldValidation=Strict"
	for _, c := range []struct {
		method, path, body string
		want               int
	}{
		{"PUT", "size", `{"kind":"size","apiVersion":"other.example.com/v2","metadata":{"name":"x"}}`, 400},
		{"PUT", "size", `{"kind":"size","apiVersion":"sizes.example.com/v1","metadata":{"name":"x"}}`, 200}, // an older version of the kind
		{"PUT", "size" + strict, `{"metadata":{"name":"x"},"colour":"red"}`, 400},
		{"PUT", "size" + strict, `{"metadata":{"name":"x"},"ports":1,"ports":2}`, 400},
		{"PUT", "size" + strict, `{"kind":"size","apiVersion":"sizes.example.com/v2","metadata":{"name":"x"},"ports":2}`, 200},
		{"PUT", "size", `{"metadata":{"name":"x"},"colour":"red"}`, 200},
		{"POST", "self" + strict, `{"colour":"red"}`, 400},
		{"PATCH", "size", `{"ports":"many"}`, 422},
		{"PATCH", "size", `{"metadata":{"uid":"other"}}`, 409},
	} {
		if code, body := send(c.method, "/api/v1/namespaces/a/pods/x/"+c.path, c.body); code != c.want {
			t.Errorf("%s %s %s: %d %s, want %d", c.method, c.path, c.body, code, body, c.want)
		}
	}
}
