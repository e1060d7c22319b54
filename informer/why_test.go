package informer

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/kinform/kinform/reflector"
)

// The texts about a cache that is not filled, for each thing that it can wait for.
func TestWhyUnfilled(t *testing.T) {
	now := time.Unix(1000, 0)
	ago := func(seconds int) time.Time { return now.Add(-time.Duration(seconds) * time.Second) }
	failed := &reflector.RequestError{Verb: "list", Resource: "pods", ResourceVersion: "0", RetryIn: 5 * time.Second, Err: errors.New("refused")}
	inProd := *failed
	inProd.Resource = "pods in namespace prod"
	for want, s := range map[string]Stats{
		"the first list has not begun": {},
		`requests have failed for 40s; the last: list at resourceVersion "0" failed, trying again in 5s: refused`: {Stats: reflector.Stats{Failing: reflector.Failing{Since: ago(40), Err: failed}}},
		"the list is slow: nothing has come for 40s, after 7 objects":                                             {Stats: reflector.Stats{ListingSince: ago(60), QuietSince: ago(40), Listed: 7}},
		`the list is slow: nothing has come for 40s, after 7 objects; requests have failed for 1m0s; the last: list at resourceVersion "0" failed, trying again in 5s: refused`: {
			Stats: reflector.Stats{ListingSince: ago(50), QuietSince: ago(40), Listed: 7, Failing: reflector.Failing{Since: ago(60), Err: failed}},
		},
		"the list has taken 1m0s so far, and has 7 objects":      {Stats: reflector.Stats{ListingSince: ago(60), Listed: 7}},
		"the list has taken 1m0s so far, and has 7 of 9 objects": {Stats: reflector.Stats{ListingSince: ago(60), Listed: 7, Expected: 9}},
		"the list is complete, and waits to enter the cache":     {Stats: reflector.Stats{Lists: 1, Listed: 7}, Pending: 7},
		`in namespace prod: requests have failed for 40s; the last: list at resourceVersion "0" failed, trying again in 5s: refused (and 1 more namespaces)`: {Namespaces: []NamespaceStats{
			{Namespace: "first", Synced: true}, {Namespace: "late", Late: true},
			{Namespace: "prod", Resource: inProd.Resource, Stats: reflector.Stats{Failing: reflector.Failing{Since: ago(40), Err: &inProd}}}, {Namespace: "stage"},
		}},
	} {
		if got := whyUnfilled("pods", s, now); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	for n, s := range []Stats{
		{Stats: reflector.Stats{Lists: 1, Failing: reflector.Failing{Since: ago(1), Err: failed}}},
		{Namespaces: []NamespaceStats{{Synced: true}, {Late: true}}},
	} {
		if got := s.Unfilled("pods"); got != "" {
			t.Errorf("%d is filled: got %s", n, got)
		}
	}
	some := Stats{Stats: reflector.Stats{Lists: 1}, Namespaces: []NamespaceStats{{Synced: true}, {Namespace: "prod"}}}
	if got, want := some.Unfilled("pods"), "in namespace prod: the first list has not begun"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	err := &UnsyncedError{Resource: "pods", Why: "the first list has not begun", Err: context.DeadlineExceeded}
	if want := "pods: the cache is not filled: context deadline exceeded; the first list has not begun"; err.Error() != want {
		t.Errorf("got %s, want %s", err, want)
	}
	if attrs := err.LogValue().Group(); attrs[len(attrs)-1].Key != "why" {
		t.Errorf("as a log: %v", attrs)
	}
	if message := (&stuckIndexError{}).LogValue().Group()[0].Value.String(); message != "function of an index holds up the cache" {
		t.Errorf("as a log: %s", message)
	}
}
