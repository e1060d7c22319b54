package fakecrd_test

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/apiextensions/fakecrd"
)

// liar is a webhook for conversions that answers all requests with one text, in which UID stands
// for the request's.
type liar struct {
	mu   sync.Mutex
	text string // guarded by mu
}

func (l *liar) say(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = text
}

// ServeHTTP implements http.Handler.
func (l *liar) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var review apiextensionsv1.ConversionReview
	_ = json.NewDecoder(r.Body).Decode(&review) // the answer does not depend on it
	l.mu.Lock()
	text := l.text
	l.mu.Unlock()
	if review.Request != nil {
		text = strings.ReplaceAll(text, "UID", string(review.Request.UID))
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = bytes.NewBufferString(text).WriteTo(w)
}

// FuzzConversion: whatever a webhook answers, requests in the other version get an object or a
// Status, and what is stored stays readable in the version of the storage.
func FuzzConversion(f *testing.F) {
	for _, text := range []string{"", "null", "[]", `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview"}`} {
		f.Add(text)
	}
	review := func(response string) string {
		return `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{"uid":"UID",` + response + `}}`
	}
	f.Add(review(`"result":{"status":"Success"},"convertedObjects":[]`))
	f.Add(review(`"result":{"status":"Success"},"convertedObjects":[null]`))
	f.Add(review(`"result":{"status":"Failure","code":100000,"message":"no"},"convertedObjects":[]`))
	for _, object := range []string{
		`{"apiVersion":"example.com/v2","kind":"Rope","metadata":{"name":"r","namespace":"a"},"spec":{"length":3}}`,
		`{"apiVersion":"example.com/v1","kind":"Rope","metadata":{"name":"s","namespace":"a"},"spec":{"size":3}}`,
		`{"apiVersion":"example.com/v2","kind":"Rope","metadata":{"name":"other","namespace":"a"},"spec":[]}`,
		`{"apiVersion":"example.com/v2","kind":"Rope","metadata":{"labels":{"a":7}}}`, `{"apiVersion":"example.com/v2","kind":"Rope","metadata":7}`,
		`{"apiVersion":"example.com/v2","kind":"RopeList","items":[{"metadata":{}}]}`,
	} {
		f.Add(review(`"result":{"status":"Success"},"convertedObjects":[` + object + `]`))
	}
	l := &liar{}
	web := httptest.NewUnstartedServer(l)
	web.Config.SetKeepAlivesEnabled(false) // no connection outlives the test
	web.StartTLS()
	f.Cleanup(web.Close)
	ca, err := json.Marshal(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw}))
	if err != nil {
		f.Fatal(err)
	}
	definition := ropes(web.URL, string(ca))
	f.Fuzz(func(t *testing.T, text string) {
		s := fake.New(fake.Options{})
		if err := fakecrd.Serve(s); err != nil {
			t.Fatal(err)
		}
		if code, body := call(t, s, "POST", definitionsPath, definition, ""); code != http.StatusCreated {
			t.Fatal(code, body)
		}
		const one, two = "/apis/example.com/v1/namespaces/a/ropes", "/apis/example.com/v2/namespaces/a/ropes"
		if code, body := call(t, s, "POST", one, `{"apiVersion":"example.com/v1","kind":"Rope","metadata":{"name":"r"},"spec":{"size":3}}`, ""); code != http.StatusCreated {
			t.Fatal(code, body)
		}
		l.say(text)
		for _, r := range []struct{ method, path, body string }{
			{"GET", two + "/r", ""}, {"GET", two, ""},
			{"POST", two, `{"apiVersion":"example.com/v2","kind":"Rope","metadata":{"name":"s"},"spec":{"length":3}}`},
			{"PUT", two + "/r", `{"apiVersion":"example.com/v2","kind":"Rope","metadata":{"name":"r"},"spec":{"length":4}}`},
			{"DELETE", two + "/r", ""},
			{"GET", one, ""},
		} {
			code, body := call(t, s, r.method, r.path, r.body, "")
			if !json.Valid([]byte(body)) || strings.Contains(body, "panic") || code < 200 || code > 599 || r.path == one && code != http.StatusOK {
				t.Fatalf("%s %s: %d %s", r.method, r.path, code, body)
			}
			checkNames(t, r.path, body)
		}
	})
}

// checkNames fails if an object of a list cannot be in it.
func checkNames(t *testing.T, path, body string) {
	var list struct {
		Items []struct {
			Metadata struct{ Name, Namespace string }
		}
	}
	if json.Unmarshal([]byte(body), &list) != nil {
		return // no list
	}
	for _, o := range list.Items {
		if o.Metadata.Name != "r" && o.Metadata.Name != "s" || o.Metadata.Namespace != "a" {
			t.Fatalf("%s has an object that nobody wrote: %s", path, body)
		}
	}
}

// ropes is a definition with two versions, of which v1 is stored.
func ropes(url, ca string) string {
	version := func(name, field string, storage bool) string {
		return fmt.Sprintf(`{"name":%q,"served":true,"storage":%t,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{%q:{"type":"integer"}}}}}}}`, name, storage, field)
	}
	return fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"ropes.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
		"names":{"plural":"ropes","kind":"Rope"},"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"url":%q,"caBundle":%s}}},
		"versions":[%s,%s]}}`, url+"/convert", ca, version("v1", "size", true), version("v2", "length", false))
}
