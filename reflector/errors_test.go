package reflector

import (
	"errors"
	"io"
	"testing"
	"time"
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
			`pods: list at resourceVersion "0" failed, going on at once: unexpected EOF`},
		{RequestError{Verb: "watch", Resource: "pods", ResourceVersion: "12", RetryIn: 1234567 * time.Microsecond, Err: ErrShortWatch},
			`pods: watch at resourceVersion "12" failed, going on in 1.235s: watch ended within a second and brought no news`},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
		if !errors.Is(&c.err, c.err.Err) {
			t.Errorf("%v does not unwrap to its cause", &c.err)
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
