package reflector

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestObjectErrorText(t *testing.T) {
	for _, c := range []struct {
		err  ObjectError
		want string
	}{
		{ObjectError{Resource: "pods", Err: ErrNoName},
			`pods: object of unknown key skipped: object has no metadata.name`},
		{ObjectError{Resource: "pods", Key: "ns/a", Err: io.ErrUnexpectedEOF},
			`pods: object "ns/a" skipped: unexpected EOF`},
		{ObjectError{Resource: "nodes", Key: "n1", ResourceVersion: "7", Err: io.ErrUnexpectedEOF},
			`nodes: object "n1" at resourceVersion 7 skipped: unexpected EOF`},
		{ObjectError{Resource: "nodes", Key: "a\nb", Err: io.EOF}, // a line stays a line
			`nodes: object "a\nb" skipped: EOF`},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
		if !errors.Is(&c.err, c.err.Err) {
			t.Errorf("%v does not unwrap to its cause", &c.err)
		}
	}
}

func TestRequestErrorText(t *testing.T) {
	for _, c := range []struct {
		err  RequestError
		want string
	}{
		{RequestError{Verb: "list", Resource: "pods", ResourceVersion: "0", Err: io.ErrUnexpectedEOF},
			`pods: list at resourceVersion "0" failed, trying again at once: unexpected EOF`},
		{RequestError{Verb: "watch", Resource: "pods", ResourceVersion: "12", RetryIn: 1234567 * time.Microsecond, Err: ErrShortWatch},
			`pods: watch at resourceVersion "12" failed, trying again in 1.235s: watch ended within a second and brought nothing`},
		// A client's errors name verb and resource too, which is said once.
		{RequestError{Verb: "watchlist", Resource: "pods", Err: fmt.Errorf("watch pods: %w", io.EOF)},
			`pods: watchlist at resourceVersion "" failed, trying again at once: EOF`},
		{RequestError{Verb: "list", Resource: "pods", Err: fmt.Errorf("list pods: %w", io.EOF)},
			`pods: list at resourceVersion "" failed, trying again at once: EOF`},
		{RequestError{Verb: "list", Resource: "pods", Err: fmt.Errorf("list nodes: %w", io.EOF)},
			`pods: list at resourceVersion "" failed, trying again at once: list nodes: EOF`},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
		if !errors.Is(&c.err, c.err.Err) {
			t.Errorf("%v does not unwrap to its cause", &c.err)
		}
	}
}

// TestLasting is about the words of failure; what a client meets is in the tests of
// package client.
// A 404 asks for a CustomResourceDefinition only where there can be one.
func TestHint(t *testing.T) {
	const test, scope = " In a test, call fake.Register", " Does the kind have namespaces?"
	const either = "does the server serve this API version? If the kind has a CustomResourceDefinition: is it installed?"
	const served = "does the server serve this resource in this API version? See kubectl api-resources; in a test, call fake.Register"
	crd := func(plural string) string {
		return "is the CustomResourceDefinition installed, and is its plural \"" + plural + "\"?"
	}
	for resource, want := range map[string]string{
		"websites.example.com":                      crd("websites") + test,
		"websites.example.com in namespace a":       crd("websites") + scope + test,
		"clusters.cluster.x-k8s.io":                 crd("clusters") + test,
		"gateways.gateway.networking.k8s.io":        either + test,
		"leases.coordination.k8s.io in namespace a": either + scope + test,
		"deployments.apps":                          served,
		"deployments.apps in namespace a.b":         strings.Replace(served, " See", scope+" See", 1),
		"pods":                                      served,
		"pods in namespace a":                       strings.Replace(served, " See", scope+" See", 1),
		"a resource without a name":                 served,
		"":                                          served,
	} {
		err := &RequestError{Verb: "list", Resource: resource, Err: apierrors.NewNotFound(schema.GroupResource{}, "")}
		if got := err.Error(); !strings.HasSuffix(got, " ("+want+")") || !strings.Contains(err.LogValue().String(), want) {
			t.Errorf("%q: got %s, want the hint %s", resource, got, want)
		}
		if got := (&RequestError{Verb: "list", Resource: resource, Err: io.EOF}).Error(); strings.Contains(got, "?") {
			t.Errorf("%q: another failure has the hint: %s", resource, got)
		}
	}
}

func TestLasting(t *testing.T) {
	for word, want := range map[string]bool{
		"expired": false, "expired-without-code": false, "gone": false, "too-large": false, "too-large-1.17": false,
		"timeout": false, "busy": false, "refused": false, "eof": false, "internal": false, "unavailable": false,
		"forbidden": true, "unauthorized": true, "not-found": true, "method-not-allowed": true, "not-implemented": true,
		"bad-request": true, "invalid": true, "unusable": true, "untrusted": true, "no-version": true,
	} {
		e := RequestError{Verb: "list", ResourceVersion: "0", Err: failure(word, 0)}
		if got := e.Lasting(); got != want {
			t.Errorf("%s: %v, want %v", word, got, want)
		}
		e.ResourceVersion = "7" // which may be what is bad
		if got := e.Lasting(); got != (want && word != "bad-request" && word != "invalid") {
			t.Errorf("%s at a version: %v", word, got)
		}
		e.ResourceVersion, e.Verb = "", "watchlist"
		if e.Lasting() {
			t.Errorf("%s is lasting though LIST follows", word)
		}
		if e.RetryIn = time.Second; e.Lasting() != want {
			t.Errorf("%s of a streaming list: %v, want %v", word, !want, want)
		}
	}
}

func TestEventTypeString(t *testing.T) {
	for typ, want := range map[EventType]string{
		Added: "ADDED", Modified: "MODIFIED", Deleted: "DELETED", Bookmark: "BOOKMARK",
		0: "EventType(0)", 200: "EventType(200)",
	} {
		if got := typ.String(); got != want {
			t.Errorf("EventType %d is %q, want %q", uint8(typ), got, want)
		}
	}
}
