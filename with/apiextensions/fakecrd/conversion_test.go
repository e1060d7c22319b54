package fakecrd_test

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/apiextensions/fakecrd"
)

// converter is a webhook: spec.size of v1 is spec.length of v2. It fails for objects named "bad".
func converter(t *testing.T) *httptest.Server {
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review apiextensionsv1.ConversionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
			return
		}
		out := &apiextensionsv1.ConversionResponse{UID: review.Request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
		for _, raw := range review.Request.Objects {
			text := strings.ReplaceAll(string(raw.Raw), `"size"`, `"length"`)
			if review.Request.DesiredAPIVersion == "example.com/v1" {
				text = strings.ReplaceAll(string(raw.Raw), `"length"`, `"size"`)
			}
			var o unstructured.Unstructured
			if err := o.UnmarshalJSON([]byte(text)); err != nil {
				t.Error(err)
			}
			o.SetAPIVersion(review.Request.DesiredAPIVersion)
			if o.GetName() == "bad" {
				out.Result = metav1.Status{Status: metav1.StatusFailure, Message: "it is bad"}
			}
			out.ConvertedObjects = append(out.ConvertedObjects, runtime.RawExtension{Object: &o})
		}
		review.Request, review.Response = nil, out
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(review); err != nil {
			t.Error(err)
		}
	}))
	web.Config.SetKeepAlivesEnabled(false) // no connection outlives the test
	web.StartTLS()
	return web
}

func TestConversionByWebhook(t *testing.T) {
	web := converter(t)
	defer web.Close()
	s := fake.New(fake.Options{})
	if err := fakecrd.Serve(s); err != nil {
		t.Fatal(err)
	}
	send := func(method, path, body string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, fake.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := s.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b)
	}
	ca, err := json.Marshal(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw}))
	if err != nil {
		t.Fatal(err)
	}
	if code, body := send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", ropes(web.URL, string(ca))); code != 201 {
		t.Fatal(code, body)
	}
	const one, two = "/apis/example.com/v1/namespaces/a/ropes", "/apis/example.com/v2/namespaces/a/ropes"
	for _, c := range []struct {
		method, path, body string
		code               int
		want               string
	}{
		{"POST", two, `{"apiVersion":"example.com/v2","kind":"Rope","metadata":{"name":"r"},"spec":{"length":3}}`, 201, `"length":3`},
		{"GET", one + "/r", "", 200, `"size":3`},
		{"GET", two + "/r", "", 200, `"length":3`},
		{"GET", two, "", 200, `"length":3`},
		{"POST", one, `{"apiVersion":"example.com/v1","kind":"Rope","metadata":{"name":"bad"},"spec":{"size":3}}`, 201, `"size":3`},
		{"GET", two + "/bad", "", 500, `conversion webhook for example.com/v1, Kind=Rope failed: it is bad`},
		{"GET", one + "/bad", "", 200, `"size":3`},
	} {
		if code, body := send(c.method, c.path, c.body); code != c.code || !strings.Contains(body, c.want) {
			t.Errorf("%s %s: %d %s, want %d %s", c.method, c.path, code, body, c.code, c.want)
		}
	}
	web.Close()
	if code, body := send("GET", two+"/r", ""); code != 500 || !strings.Contains(body, "conversion webhook for example.com/v1, Kind=Rope failed: Post") {
		t.Errorf("with the webhook down: %d %s", code, body)
	}
}

// TestPrinterColumns reads tables as kubectl get does.
func TestPrinterColumns(t *testing.T) {
	var s *fake.Server
	table := func() string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), "GET", fake.URL+"/apis/example.com/v1/namespaces/a/ropes", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
		resp, err := s.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		var got metav1.Table
		if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, c := range got.ColumnDefinitions {
			out = append(out, c.Name)
		}
		for _, r := range got.Rows {
			out = append(out, fmt.Sprint(r.Cells[:len(r.Cells)-1])) // the last is an age
		}
		return strings.Join(out, " ")
	}
	for _, c := range []struct{ columns, want string }{
		{`[{"name":"Size","type":"integer","jsonPath":".spec.size"},{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}]`, "Name Size Age [r 3]"},
		{`[]`, "Name Age [r]"},
	} {
		s = fake.New(fake.Options{})
		if err := fakecrd.Serve(s); err != nil {
			t.Fatal(err)
		}
		manifest := `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"ropes.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
			"names":{"plural":"ropes","kind":"Rope"},"versions":[{"name":"v1","served":true,"storage":true,"additionalPrinterColumns":` + c.columns + `,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`
		if err := s.LoadYAML("definition", manifest); err != nil {
			t.Fatal(err)
		}
		if err := s.LoadYAML("object", `{"apiVersion":"example.com/v1","kind":"Rope","metadata":{"name":"r","namespace":"a"},"spec":{"size":3}}`); err != nil {
			t.Fatal(err)
		}
		if got := table(); got != c.want {
			t.Errorf("columns %s: %s, want %s", c.columns, got, c.want)
		}
	}
}
