package client_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
)

// answering is a transport that gives the same answer to everything, and counts.
type answering struct {
	code  int
	body  string
	calls int
}

func (a *answering) RoundTrip(r *http.Request) (*http.Response, error) {
	a.calls++
	return &http.Response{
		StatusCode: a.code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r, ContentLength: -1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(a.body)),
	}, nil
}

// An error says whether the server can have carried the request out.
func TestWhatBecameOfARequest(t *testing.T) {
	in := func(namespace, name string) types.NamespacedName {
		return types.NamespacedName{Namespace: namespace, Name: name}
	}
	const notFound = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`
	for name, c := range map[string]struct {
		code     int
		body     string
		key      types.NamespacedName
		sent     int
		accepted bool
	}{
		"no namespace":         {200, `{}`, in("", "x"), 0, false},
		"no name":              {200, `{}`, in("a", ""), 0, false},
		"a path":               {200, `{}`, in("a", "x/y"), 0, false},
		"refused":              {404, notFound, in("a", "x"), 1, false},
		"unreadable":           {200, `{"metadata":{"name":7}}`, in("a", "x"), 1, true},
		"not of this API":      {200, `<html>`, in("a", "x"), 1, true},
		"cut in the mid":       {200, `{"metadata":`, in("a", "x"), 1, true},
		"of another kind":      {200, `{"kind":"Other","apiVersion":"example.com/v1","metadata":{"namespace":"a","name":"x"}}`, in("a", "x"), 1, true},
		"as it should be":      {200, `{"metadata":{"namespace":"a","name":"x"}}`, in("a", "x"), 1, false},
		"of another namespace": {200, `{"metadata":{"namespace":"b","name":"x"}}`, in("a", "x"), 1, false},
	} {
		a := &answering{code: c.code, body: c.body}
		r, err := client.New(client.Connection{URL: "http://server.invalid", HTTP: &http.Client{Transport: a}}, gadgets, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.Patch(t.Context(), c.key, types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})
		if a.calls != c.sent || errors.Is(err, client.ErrNotSent) != (c.sent == 0) || errors.Is(err, client.ErrAccepted) != c.accepted {
			t.Errorf("%s: %d calls, %v", name, a.calls, err)
		}
	}
}
