package reflector

import (
	"bytes"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestLogValues: the attributes that each error has in a log.
func TestLogValues(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{&ObjectError{Resource: "pods", Key: "a/b", ResourceVersion: "7", Err: io.ErrUnexpectedEOF},
			`e.message="object is skipped" e.resource=pods e.key=a/b e.resourceVersion=7 e.error="unexpected EOF"`},
		{&ObjectError{Resource: "pods", Type: Deleted, Err: io.EOF},
			`e.message="object is skipped" e.resource=pods e.key="" e.resourceVersion="" e.error=EOF e.event=DELETED`},
		{&RequestError{Resource: "pods", Verb: "watch", ResourceVersion: "12", RetryIn: time.Second, Err: io.EOF},
			`e.message="watch failed" e.resource=pods e.verb=watch e.resourceVersion=12 e.retryIn=1s e.error=EOF`},
		{&SlowListError{Resource: "pods", ResourceVersion: "12", Quiet: 10 * time.Second},
			`e.message="watchlist is slow" e.resource=pods e.verb=watchlist e.resourceVersion=12 e.quiet=10s e.error="nothing comes"`},
	} {
		var out bytes.Buffer
		slog.New(slog.NewTextHandler(&out, nil)).Info("m", "e", c.err)
		_, got, _ := strings.Cut(strings.TrimSpace(out.String()), "msg=m ")
		if got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// TestRelistReasonsHaveNames: the log says why.
func TestRelistReasonsHaveNames(t *testing.T) {
	for r := becauseExpired; r < relistReasons; r++ {
		if r.String() == "" {
			t.Errorf("reason %d has no name", r)
		}
	}
}
