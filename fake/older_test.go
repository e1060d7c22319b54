package fake_test

import (
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake"
)

// TestOlderServers looks at what servers do that lack a feature.
func TestOlderServers(t *testing.T) {
	initial := metav1.ListOptions{SendInitialEvents: &yes, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, AllowWatchBookmarks: true, TimeoutSeconds: new(int64)}
	*initial.TimeoutSeconds = 1
	marks := metav1.ListOptions{ResourceVersion: "2", AllowWatchBookmarks: true, TimeoutSeconds: initial.TimeoutSeconds}
	const refused = `refused 422 Invalid ListOptions.meta.k8s.io "" is invalid: ` +
		"sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"
	for name, c := range map[string]struct {
		server fake.Options
		opts   metav1.ListOptions
		want   int    // lines of the answer
		first  string // the first of them, if it matters
	}{
		"watch list":            {fake.Options{}, initial, 5, ""}, // three objects, the mark, the bookmark at the end
		"no watch list":         {fake.Options{NoWatchList: true}, initial, 1, refused},
		"no bookmarks, initial": {fake.Options{NoBookmarks: true}, initial, 1, refused},
		"bookmarks":             {fake.Options{}, marks, 3, ""},
		"no bookmarks":          {fake.Options{NoBookmarks: true}, marks, 2, ""},
		"paging":                {fake.Options{}, metav1.ListOptions{Limit: 2}, 5, ""}, // two pages
		"no paging":             {fake.Options{NoPaging: true}, metav1.ListOptions{Limit: 2}, 4, ""},
		"match":                 {fake.Options{}, metav1.ListOptions{ResourceVersion: "3", ResourceVersionMatch: metav1.ResourceVersionMatchExact}, 3, ""},
		"no sharding":           {fake.Options{NoSharding: true}, metav1.ListOptions{ShardSelector: "junk"}, 4, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, c.server)
				for _, n := range []string{"p", "q", "r"} {
					must(fake.Create(s, newPod("a", n)))(t)
				}
				got := readAll(t, must(fake.NewSource[*pod](s, fake.Selection{}))(t), c.opts)
				if len(got) != c.want || c.first != "" && got[0] != c.first {
					t.Errorf("answer of %d lines, want %d:\n%q", len(got), c.want, got)
				}
			})
		})
	}
}
