package client_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/internal/mistake"
	"github.com/kinform/kinform/internal/pages"
	"github.com/kinform/kinform/internal/usercode"
	"github.com/kinform/kinform/reflector"
)

var _ reflector.Source[*widget] = (*client.Resource[*widget])(nil)

var listMembers = map[string]string{
	"kind":       `"kind":"WidgetList"`,
	"apiVersion": `"apiVersion":"example.com/v1"`,
	"metadata":   `"metadata":{"resourceVersion":"12"}`,
	"items":      `"items":[` + widgetJSON("a", 10, 1) + "," + widgetJSON("b", 11, 2) + "]",
	"more":       `"shardInfo":{"deep":[1,{"x":null}]}`,
}

// permutations calls f with every order of s.
func permutations(s []string, f func([]string)) {
	if len(s) == 0 {
		f(nil)
		return
	}
	for i := range s {
		rest := slices.Concat(s[:i], s[i+1:])
		permutations(rest, func(p []string) { f(append([]string{s[i]}, p...)) })
	}
}

// Proxies and other servers write the members in any order; the result is the same.
func TestListMembersInAnyOrder(t *testing.T) {
	want := []reflector.Event[*widget]{
		newEvent(reflector.Added, newWidget("a", 10, 1)),
		newEvent(reflector.Added, newWidget("b", 11, 2)),
	}
	permutations([]string{"kind", "apiVersion", "metadata", "items", "more"}, func(order []string) {
		var members []string
		for _, name := range order {
			members = append(members, listMembers[name])
		}
		body := "{" + strings.Join(members, ", ") + "}"
		r := newResource[*widget](t, bodies(body), client.Options{})
		got := list(t.Context(), r, metav1.ListOptions{})
		if got.err != nil || got.errs != nil || got.meta.ResourceVersion != "12" {
			t.Fatalf("%v: %v, %v, meta %v", order, got.err, got.errs, got.meta)
		}
		if d := cmp.Diff(want, got.events); d != "" {
			t.Errorf("%v: %s", order, d)
		}
	})
}

func TestListMeta(t *testing.T) {
	got := list(t.Context(), newResource[*widget](t, bodies(listJSON()), client.Options{}), metav1.ListOptions{})
	n := int64(7)
	want := metav1.ListMeta{ResourceVersion: "12", Continue: "tok", RemainingItemCount: &n}
	if d := cmp.Diff(want, got.meta); d != "" || got.err != nil {
		t.Error(got.err, d)
	}
	if len(got.events) != 0 {
		t.Errorf("events of an empty list: %v", got.events)
	}
}

func TestListNullItems(t *testing.T) {
	body := strings.Replace(listJSON(), "[]", "null", 1)
	got := list(t.Context(), newResource[*widget](t, bodies(body), client.Options{}), metav1.ListOptions{})
	if got.err != nil || len(got.events)+len(got.errs) != 0 {
		t.Error(got)
	}
}

// Objects are yielded while the rest of the body is still to be written.
func TestListStreams(t *testing.T) {
	in, out := io.Pipe()
	conn := transport(func(*http.Request) (*http.Response, error) { return response(in), nil }).connection()
	r := newResource[*widget](t, conn, client.Options{})
	seen := make(chan string)
	done := make(chan error)
	go func() {
		_, err := r.List(t.Context(), metav1.ListOptions{}, func(ev reflector.Event[*widget], _ error) bool {
			seen <- ev.Object.Name
			return true
		})
		done <- err
	}()
	start, end, _ := strings.Cut(listJSON("@"), "@")
	for _, part := range []struct{ text, name string }{
		{start + widgetJSON("a", 1, 1), "a"}, {"," + widgetJSON("b", 2, 1), "b"},
	} {
		if _, err := io.WriteString(out, part.text); err != nil {
			t.Fatal(err)
		}
		if name := <-seen; name != part.name {
			t.Fatalf("got %s, want %s", name, part.name)
		}
	}
	go func() {
		_, _ = io.WriteString(out, end)
		_ = out.Close()
	}()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestListStopped(t *testing.T) {
	for _, body := range []string{
		listJSON(widgetJSON("a", 1, 1), widgetJSON("b", 2, 1)),
		// with the kind last, the objects come at the end
		`{"items":[` + widgetJSON("a", 1, 1) + `,` + widgetJSON("b", 1, 1) + `],"apiVersion":"example.com/v1","kind":"WidgetList"}`,
	} {
		n := 0
		_, err := newResource[*widget](t, bodies(body), client.Options{}).List(t.Context(), metav1.ListOptions{},
			func(reflector.Event[*widget], error) bool { n++; return false })
		if err != reflector.ErrListStopped || n != 1 {
			t.Errorf("%d yields, %v", n, err)
		}
	}
}

// An object that cannot be used costs itself and nothing else.
func TestListBadObjects(t *testing.T) {
	for _, test := range []struct {
		name, item string
		key, rv    string
		is         error
		text       string
	}{
		{name: "null", item: `null`, is: client.ErrNotAnObject, text: "null"},
		{name: "number", item: `5`, is: client.ErrNotAnObject},
		{name: "array", item: `[{"metadata":{"name":"x"}}]`, is: client.ErrNotAnObject},
		{name: "empty", item: `{}`, is: reflector.ErrNoName},
		{name: "no name", item: `{"metadata":{"namespace":"ns","resourceVersion":"3"}}`, rv: "3", is: reflector.ErrNoName},
		{name: "null metadata", item: `{"metadata":null}`, is: reflector.ErrNoName},
		{
			name: "wrong type in spec", item: `{"metadata":{"name":"x","namespace":"ns","resourceVersion":"3"},"spec":{"size":"big"}}`,
			key: "ns/x", rv: "3", text: "size",
		},
		{
			name: "wrong type before metadata", item: `{"spec":{"size":{"a":[1,2,"}"]}},"metadata":{"name":"x","resourceVersion":"3"}}`,
			key: "x", rv: "3",
		},
		{name: "metadata of a wrong type", item: `{"metadata":[1]}`},
		{name: "name of a wrong type", item: `{"metadata":{"name":7,"resourceVersion":"3"}}`, rv: "3", text: "name"},
		{
			name: "resourceVersion of a wrong type", item: `{"metadata":{"resourceVersion":3,"name":"x"}}`,
			key: "x", text: "resourceVersion",
		},
		{name: "bad base64", item: `{"metadata":{"name":"x"},"spec":{"data":"~~~"}}`, key: "x"},
		{name: "bad time", item: `{"metadata":{"name":"x","creationTimestamp":"yesterday"}}`, key: "x"},
		{
			name: "other kind", item: `{"kind":"Gadget","apiVersion":"example.com/v1","metadata":{"name":"x","resourceVersion":"3"}}`,
			key: "x", rv: "3", is: client.ErrWrongKind, text: "Gadget",
		},
		{
			name: "other group", item: `{"kind":"Widget","apiVersion":"example.org/v1","metadata":{"name":"x"}}`,
			key: "x", is: client.ErrWrongKind,
		},
		{
			name: "other kind that does not decode", item: `{"kind":"Gadget","apiVersion":"v1","metadata":{"name":"x"},"spec":3}`,
			key: "x", is: client.ErrWrongKind,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			body := listJSON(widgetJSON("a", 10, 1), test.item, widgetJSON("b", 11, 2))
			r := newResource[*widget](t, bodies(body), client.Options{Namespace: "ns"})
			got := list(t.Context(), r, metav1.ListOptions{})
			want := []reflector.Event[*widget]{
				newEvent(reflector.Added, newWidget("a", 10, 1)), newEvent(reflector.Added, newWidget("b", 11, 2)),
			}
			if d := cmp.Diff(want, got.events); d != "" || got.err != nil {
				t.Fatal(got.err, d)
			}
			if len(got.errs) != 1 {
				t.Fatalf("object errors: %v", got.errs)
			}
			e := got.errs[0]
			if e.Resource != "widgets.example.com in namespace ns" || e.Key != test.key || e.ResourceVersion != test.rv {
				t.Errorf("%#v", e)
			}
			if test.is != nil && !errors.Is(e, test.is) || !strings.Contains(e.Error(), test.text) {
				t.Error(e)
			}
		})
	}
}

// A body that is no list of the resource is an error that says what it is.
func TestListBadBodies(t *testing.T) {
	var status *apierrors.StatusError
	for _, test := range []struct {
		name, body string
		kind       string // Options.Kind
		is         error
		as         any
		texts      []string
	}{
		{name: "empty", body: "", is: client.ErrNotKubernetes, texts: []string{"empty body"}},
		{name: "HTML", body: "<html><body>Please log in</body></html>", is: client.ErrNotKubernetes, texts: []string{"Please log in", "application/json"}},
		{name: "text", body: "ok", is: client.ErrNotKubernetes, texts: []string{`"ok"`}},
		{name: "null", body: "null", is: client.ErrNotKubernetes},
		{name: "array", body: "[1,2]", is: client.ErrNotKubernetes, texts: []string{"JSON array"}},
		{name: "other JSON", body: `{"hello":"world"}`, is: client.ErrNotKubernetes, texts: []string{"hello", `no "kind"`}},
		{name: "items alone", body: `{"items":[]}`, is: client.ErrNotKubernetes},
		{name: "no apiVersion", body: `{"kind":"WidgetList","items":[]}`, is: client.ErrNotKubernetes},
		{name: "long", body: `{"a":"` + strings.Repeat("b", 5000) + `"}`, is: client.ErrNotKubernetes, texts: []string{`bbb"...`}},
		{name: "table", body: `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{},"rows":[]}`, is: client.ErrTable},
		{
			name: "status", body: `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"no luck","reason":"Expired","code":410}`,
			as: &status, texts: []string{"no luck"},
		},
		{
			name: "status, kind last", body: `{"status":"Failure","message":"no luck","reason":"Expired","code":410,"kind":"Status"}`,
			as: &status, texts: []string{"no luck"},
		},
		{name: "one object", body: full(widgetJSON("a", 1, 1)), is: client.ErrWrongKind, texts: []string{"Widget", "without items"}},
		{name: "other list", body: `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"x"}}]}`, is: client.ErrWrongKind, texts: []string{"PodList"}},
		{name: "other list, apiVersion first", body: `{"apiVersion":"v1","kind":"PodList","items":[]}`, is: client.ErrWrongKind},
		{name: "kind of a wrong type", body: `{"kind":7,"items":[]}`, is: client.ErrNotKubernetes},
		{name: "metadata of a wrong type", body: `{"kind":"WidgetList","metadata":"x","items":[]}`, is: client.ErrNotKubernetes},
		{name: "items of a wrong type", body: `{"kind":"WidgetList","apiVersion":"example.com/v1","items":{"a":1}}`, texts: []string{"items", "JSON object"}},
		{name: "garbage in items", body: listJSON(widgetJSON("a", 1, 1), "garbage"), texts: []string{"items[1]", "byte"}},
		{name: "garbage behind", body: listJSON() + "garbage", texts: []string{"the end"}},
		{name: "two lists", body: listJSON() + listJSON(), texts: []string{"the end", "JSON object"}},
		{name: "truncated", body: listJSON(widgetJSON("a", 1, 1), `{"metadata":`)[:200], is: io.ErrUnexpectedEOF, texts: []string{"items["}},
	} {
		t.Run(test.name, func(t *testing.T) {
			status = nil
			r := newNamed[*widget](t, bodies(test.body), test.kind, client.Options{})
			got := list(t.Context(), r, metav1.ListOptions{})
			if got.err == nil {
				t.Fatal("no error")
			}
			t.Log(got.err)
			if test.is != nil && !errors.Is(got.err, test.is) {
				t.Errorf("is not %q", test.is)
			}
			if test.as != nil && (!errors.As(got.err, test.as) || !apierrors.IsResourceExpired(got.err)) {
				t.Errorf("is no %T of 410", test.as)
			}
			for _, text := range append(test.texts, "list widgets.example.com: ") {
				if !strings.Contains(got.err.Error(), text) {
					t.Errorf("does not say %q", text)
				}
			}
			if len(got.events) > 1 {
				t.Errorf("objects of no list: %v", got.events)
			}
		})
	}
}

// The list's kind is enough for items of built-in types, and a custom resource may name
// its list as it wants.
func TestListKinds(t *testing.T) {
	item := widgetJSON("a", 10, 1)
	for header, wantKind := range map[string]string{
		`"kind":"WidgetList","apiVersion":"example.com/v1"`: "Widget",
		`"kind":"Widgetry","apiVersion":"example.com/v1"`:   "",
		`"kind":"List","apiVersion":"v1"`:                   "",
	} {
		got := list(t.Context(), newResource[*widget](t, bodies(`{`+header+`,"items":[`+item+`]}`), client.Options{}), metav1.ListOptions{})
		if got.err != nil || len(got.events) != 1 {
			t.Fatal(header, got.err, got.errs)
		}
		if w := got.events[0].Object; w.Kind != wantKind || w.APIVersion != "example.com/v1" {
			t.Errorf("%s: kind %q, apiVersion %q", header, w.Kind, w.APIVersion)
		}
		// An Unstructured without a kind is of no use.
		u := list(t.Context(), newResource[*unstructured.Unstructured](t, bodies(`{`+header+`,"items":[`+item+`]}`), client.Options{}), metav1.ListOptions{})
		if u.err != nil || len(u.events) != min(1, len(wantKind)) || len(u.events)+len(u.errs) != 1 {
			t.Error(header, u.events, u.errs, u.err)
		}
		// Options.Kind helps.
		u = list(t.Context(), newNamed[*unstructured.Unstructured](t, bodies(`{`+header+`,"items":[`+item+`]}`), "Widget", client.Options{}), metav1.ListOptions{})
		if u.err != nil || len(u.events) != 1 || u.events[0].Object.GetKind() != "Widget" {
			t.Error(header, u.events, u.errs, u.err)
		}
	}
}

func TestListPanicContained(t *testing.T) {
	body := listJSON(widgetJSON("a", 1, 1), `{"metadata":{"name":"x"},"spec":"boom"}`, widgetJSON("b", 2, 2))
	got := list(t.Context(), newLike(t, bodies(body), &touchy{}, client.Options{}), metav1.ListOptions{})
	if got.err != nil || len(got.events) != 2 || len(got.errs) != 1 {
		t.Fatal(got)
	}
	var p *usercode.PanicError
	if e := got.errs[0]; e.Key != "x" || !errors.As(e, &p) || !errors.Is(e, errTouchy) || !strings.Contains(string(p.Stack), "UnmarshalJSON") || !strings.Contains(p.Error(), "boom") {
		t.Error(e)
	}
}

func TestItems(t *testing.T) {
	var asked []string
	conn := transport(func(req *http.Request) (*http.Response, error) {
		q := req.URL.Query()
		asked = append(asked, q.Get("continue")+"@"+q.Get("resourceVersion"))
		body := listJSON(widgetJSON("a", 1, 1), "null")
		if q.Get("continue") != "" {
			body = strings.Replace(listJSON(widgetJSON("b", 2, 2)), `"continue":"tok"`, `"continue":""`, 1)
		}
		return response(strings.NewReader(body)), nil
	}).connection()
	r := newResource[*widget](t, conn, client.Options{})
	seq := r.Items(t.Context(), metav1.ListOptions{Limit: 2, ResourceVersion: "5", ResourceVersionMatch: "Exact"})
	for range 2 { // it can be used again
		var names []string
		for w, err := range seq {
			if err != nil {
				names = append(names, "error")
				continue
			}
			names = append(names, w.Name)
		}
		if !slices.Equal(names, []string{"a", "error", "b"}) {
			t.Error(names)
		}
	}
	if !slices.Equal(asked, []string{"@5", "tok@", "@5", "tok@"}) {
		t.Error(asked)
	}
	for range seq {
		break
	}
	for _, err := range newResource[*widget](t, bodies("x"), client.Options{}).Items(t.Context(), metav1.ListOptions{}) {
		if !errors.Is(err, client.ErrNotKubernetes) {
			t.Error(err)
		}
	}
}

// Pages that lead back to others do not keep Items for ever.
func TestItemsOfCirclingPages(t *testing.T) {
	for _, loop := range []int{2, 3, 7} {
		pages := 0
		conn := transport(func(req *http.Request) (*http.Response, error) {
			next := strconv.Quote(fmt.Sprint("t", pages%loop))
			pages++
			return response(strings.NewReader(strings.Replace(listJSON(widgetJSON("a", 1, 1)), `"tok"`, next, 1))), nil
		}).connection()
		var last error
		for _, err := range newResource[*widget](t, conn, client.Options{}).Items(t.Context(), metav1.ListOptions{Limit: 1}) {
			if last = err; pages > 10*loop {
				t.Fatal("it goes on")
			}
		}
		if !errors.Is(last, mistake.BadPage) || pages <= loop {
			t.Error(loop, pages, last)
		}
	}
}

// Empty pages that lead on do not keep Items for ever. As many pages with objects are a long list.
func TestItemsOfEmptyPages(t *testing.T) {
	var items []string
	n := 0
	conn := transport(func(*http.Request) (*http.Response, error) {
		n++
		return response(strings.NewReader(strings.Replace(listJSON(items...), `"tok"`, strconv.Quote(fmt.Sprint("t", n)), 1))), nil
	}).connection()
	r := newResource[*widget](t, conn, client.Options{})
	items = []string{widgetJSON("a", 1, 1)}
	for _, err := range r.Items(t.Context(), metav1.ListOptions{Limit: 1}) {
		if err != nil {
			t.Fatal(n, err)
		}
		if n > pages.EmptyLimit+1 {
			break
		}
	}
	items, n = nil, 0
	for w, err := range r.Items(t.Context(), metav1.ListOptions{Limit: 1}) {
		if w != nil || !errors.Is(err, mistake.BadPage) || !strings.Contains(err.Error(), r.Resource()) || !strings.Contains(err.Error(), "empty pages") {
			t.Error(w, err)
		}
	}
	if n != pages.EmptyLimit+1 {
		t.Errorf("%d requests", n)
	}
}

// A server that sends the same page again and again does not keep Items for ever.
func TestItemsOfOnePage(t *testing.T) {
	r := newResource[*widget](t, bodies(listJSON(widgetJSON("a", 1, 1))), client.Options{})
	n := 0
	for w, err := range r.Items(t.Context(), metav1.ListOptions{Limit: 1}) {
		if n++; n > 10 {
			t.Fatal("it goes on")
		}
		if last := n == 3; last != errors.Is(err, mistake.BadPage) || last != (w == nil) {
			t.Error(n, w, err)
		}
	}
	if n != 3 {
		t.Errorf("%d pairs, want 3", n)
	}
}
