package fake_test

import (
	"bufio"
	"compress/gzip"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake"
)

// TestSelfLink: nobody can write one.
func TestSelfLink(t *testing.T) {
	s := statusServer(t, fake.Options{})
	c := clientOf(t, s, podKind, "a")
	before := must(fake.Create(s, newPod("a", "p")))(t)
	after := must(c.Patch(t.Context(), key("", "p"), types.MergePatchType, []byte(`{"metadata":{"selfLink":"/x"}}`), metav1.PatchOptions{}))(t)
	//lint:ignore SA1019 clients still send it
	link := after.SelfLink
	if link != "" || after.ResourceVersion != before.ResourceVersion {
		t.Errorf("selfLink %q at %s", link, after.ResourceVersion)
	}
}

// TestDeleteCollectionOfVersion: a resourceVersion is exact, as in a list by pages. In a request
// without a body it is also a precondition.
func TestDeleteCollectionOfVersion(t *testing.T) {
	s := statusServer(t, fake.Options{})
	const path = "/api/v1/namespaces/a/pods"
	first := must(fake.Create(s, newPod("a", "p")))(t)
	must(fake.Create(s, newPod("a", "q")))(t)
	for _, c := range []struct {
		query, body string
		code, left  int
	}{
		{"?resourceVersion=1", "", 200, 2},
		{"?resourceVersion=0", "", 409, 2},
		{"?resourceVersion=" + first.ResourceVersion, "{}", 200, 1},
		{"?resourceVersion=0", "{}", 200, 0},
	} {
		code, answer := request(t, s, "DELETE", path+c.query, "application/json", c.body)
		left := must(fake.List[*pod](s, fake.Selection{}))(t)
		if code != c.code || len(left) != c.left {
			t.Errorf("%s: %d %s leaves %d", c.query, code, answer, len(left))
		}
	}
	check(t, s.Compact(s.ResourceVersion()))
	if code, answer := request(t, s, "DELETE", path+"?resourceVersion=1", "", ""); code != 410 {
		t.Errorf("%d %s", code, answer)
	}
}

// TestRootPaths: the root lists the documents.
func TestRootPaths(t *testing.T) {
	s := statusServer(t, fake.Options{})
	for _, path := range []string{"/", "/index.html"} {
		if code, answer := request(t, s, "GET", path, "", ""); code != 200 || !strings.HasPrefix(string(answer), `{"paths":["/api","/api/v1","/apis",`) || !strings.Contains(string(answer), `"/apis/example.com/v1"`) {
			t.Errorf("%s: %d %s", path, code, answer)
		}
	}
}

// TestGzipWatch: a watch with initial events is compressed for clients that ask for it, and each
// event can be read when it comes.
func TestGzipWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := statusServer(t, fake.Options{})
		must(fake.Create(s, newPod("a", "p")))(t)
		const path = "/api/v1/pods?watch=1&allowWatchBookmarks=true"
		for query, want := range map[string]string{"&sendInitialEvents=true&resourceVersionMatch=NotOlderThan": "gzip", "": ""} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fake.URL+path+query, nil)
			check(t, err)
			req.Header.Set("Accept-Encoding", "identity, gzip")
			resp := must(s.Client().Do(req))(t)
			if got := resp.Header.Get("Content-Encoding"); got != want {
				t.Errorf("%q is encoded as %q", query, got)
			}
			if want == "gzip" {
				events := bufio.NewScanner(must(gzip.NewReader(resp.Body))(t))
				for _, part := range []string{`{"type":"ADDED"`, `{"type":"BOOKMARK"`, `{"type":"MODIFIED"`, `{"type":"DELETED"`} {
					if !events.Scan() || !strings.HasPrefix(events.Text(), part) {
						t.Fatalf("%q, want %s", events.Text(), part)
					}
					if part == `{"type":"BOOKMARK"` {
						time.AfterFunc(time.Second, func() { must(fake.Delete[*pod](s, key("a", "p")))(t) })
					}
				}
			}
			check(t, resp.Body.Close())
		}
	})
}

// TestMarkBeforeRemoval: with a strategy, a pod that a request deletes is marked for a while before
// it goes. Another write in this time changes nothing about that.
func TestMarkBeforeRemoval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, first := range []bool{true, false} {
			s := statusServer(t, optionsFor(first))
			made := must(fake.Create(s, newPod("a", "p")))(t)
			c := clientOf(t, s, podKind, "a")
			ended := make(chan error, 1)
			go func() {
				ended <- c.Delete(t.Context(), key("", "p"), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &made.ResourceVersion}})
			}()
			synctest.Wait()
			got, err := fake.Get[*pod](s, key("a", "p"))
			if (err == nil) != first || first && got.DeletionTimestamp == nil {
				t.Errorf("strategies %t: %+v %v", first, got, err)
			}
			if first {
				must(fake.Patch[*pod](s, key("a", "p"), []byte(`{"metadata":{"labels":{"l":"1"}}}`)))(t)
			}
			time.Sleep(time.Millisecond)
			check(t, <-ended)
			if _, err := fake.Get[*pod](s, key("a", "p")); err == nil {
				t.Error("the pod stays")
			}
		}
	})
}
