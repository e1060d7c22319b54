package reflector

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/internal/picking"
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
		{&RequestError{Resource: "pods", Verb: "watch", ResourceVersion: "12", Err: ErrRestored},
			`e.message="the server was restored from a backup" e.resource=pods e.verb=watch e.resourceVersion=12 e.retryIn=0s e.error="` + ErrRestored.Error() + `"`},
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

// TestRelistReasonsHaveNames: the log says why, and Stats counts each reason in its own field.
func TestRelistReasonsHaveNames(t *testing.T) {
	var counts Relists
	all := map[*uint64]bool{}
	for r, n := range relistFields(&counts) {
		if why := relistReason(r); why != noRelist && (why.String() == "" || n == nil || all[n]) {
			t.Errorf("reason %d has no name, or no field of its own", r)
		}
		all[n] = true
	}
	if fields := reflect.TypeFor[Relists]().NumField(); len(all)-1 != fields || len(counts.ByReason()) != fields {
		t.Errorf("Relists has %d fields, for %d reasons: %v", fields, len(all)-1, counts.ByReason())
	}
}

// TestRelistsAreLogged: each list in place of a watch is in the log, with its reason.
func TestRelistsAreLogged(t *testing.T) {
	for reason, unversioned := range map[string]bool{"no version": true, "moved": false, "expired": false} {
		t.Run(reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &courses{unversioned: unversioned, breaker: new(Breaker), next: func(n int) course {
					if reason == "expired" && n == 0 {
						return course{refused: "expired"}
					}
					return course{lasts: time.Hour}
				}}
				by := new(choice)
				source := Source[metaObject](server)
				if reason == "moved" {
					source = Select(source, picking.Selector[metaObject](by))
				}
				var out bytes.Buffer
				opts := Options{Tuning: listsOnly, OnError: func(error) {}, Logger: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))}
				r, err := New(source, Sink[metaObject](&chosen{mirror: mirror{has: map[string]metaObject{}}, by: by}), opts)
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error)
				go func() { ended <- r.Run(ctx) }()
				synctest.Wait()
				if reason == "moved" {
					for _, wanted := range []names{"a", "ab"} {
						if err := by.set(wanted); err != nil {
							t.Error(err)
						}
						time.Sleep(time.Second)
					}
				}
				time.Sleep(time.Minute)
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
				n := uint64(strings.Count(out.String(), `msg="reflector: lists again" `))
				if want := r.Stats().Relists.ByReason()[reason]; n != want || n == 0 {
					t.Errorf("%d lists are logged, want %d:\n%s", n, want, out.String())
				}
			})
		})
	}
}
