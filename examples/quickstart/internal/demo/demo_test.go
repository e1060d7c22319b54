package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/reflector"
)

func populated(t *testing.T, opts Options) (*fake.Server, *Cluster) {
	t.Helper()
	server, err := NewServer()
	if err != nil {
		t.Fatal(err)
	}
	c, err := Populate(server, opts)
	if err != nil {
		t.Fatal(err)
	}
	return server, c
}

func listed(t *testing.T, server *fake.Server) []*corev1.Pod {
	t.Helper()
	pods, err := fake.List[*corev1.Pod](server, fake.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	return pods
}

func TestPopulate(t *testing.T) {
	server, _ := populated(t, Options{Pods: 500, Seed: 1})
	again, _ := populated(t, Options{Pods: 500, Seed: 1})
	other, _ := populated(t, Options{Pods: 500, Seed: 2})
	pods := listed(t, server)
	if len(pods) != 500 {
		t.Errorf("%d pods, want 500", len(pods))
	}
	inNamespace, onNode := map[string]int{}, map[string]int{}
	for _, pod := range pods {
		inNamespace[pod.Namespace]++
		onNode[pod.Spec.NodeName]++
	}
	if len(inNamespace) != namespaces || len(onNode) != nodes {
		t.Errorf("pods are in %d namespaces and on %d nodes, want %d and %d", len(inNamespace), len(onNode), namespaces, nodes)
	}
	if summary(pods) != summary(listed(t, again)) {
		t.Error("the same seed gave other pods")
	}
	if summary(pods) == summary(listed(t, other)) {
		t.Error("another seed gave the same pods")
	}
}

// summary has the properties of the pods that depend on the seed only.
func summary(pods []*corev1.Pod) string {
	var b strings.Builder
	for _, pod := range pods {
		fmt.Fprintln(&b, pod.Namespace, pod.Name, pod.Spec, pod.Status)
	}
	return b.String()
}

// TestChange runs a cluster for two minutes of virtual time.
func TestChange(t *testing.T) {
	const rate, seconds = 200, 120
	synctest.Test(t, func(t *testing.T) {
		var notes []string
		server, c := populated(t, Options{Pods: 300, Changes: rate, Seed: 7, Note: func(s string) { notes = append(notes, s) }})
		before := listed(t, server)
		ctx, cancel := context.WithTimeout(t.Context(), seconds*time.Second)
		defer cancel()
		done := make(chan error, 1)
		go func() { done <- c.Change(ctx) }()
		writes := 0
		for second := 1; second < seconds; second++ {
			from := server.ResourceVersion()
			time.Sleep(time.Second)
			synctest.Wait()
			n := len(listed(t, server))
			if n < 300*8/10 || n > 300*11/10+1 {
				t.Errorf("%d pods after %d s, want about 300", n, second)
			}
			writes += between(t, from, server.ResourceVersion())
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		if want := rate * (seconds - 1); writes < want*9/10 || writes > want*12/10 {
			t.Errorf("%d writes, want about %d", writes, want)
		}
		if summary(before) == summary(listed(t, server)) {
			t.Error("nothing changed")
		}
		rv := server.ResourceVersion()
		time.Sleep(time.Minute)
		if got := server.ResourceVersion(); got != rv {
			t.Errorf("something was written after the end: %s, then %s", rv, got)
		}
		checkTruth(t, c, listed(t, server))
		for _, what := range []string{"drained", "takes pods again", "cut off", "forgets"} {
			if n := countContaining(notes, what); n < seconds/int(cycle.Seconds()) {
				t.Errorf("%d notes with %q in two minutes: %q", n, what, notes)
			}
		}
	})
}

func between(t *testing.T, from, to string) (n int) {
	t.Helper()
	var a, b int
	if _, err := fmt.Sscan(from, &a); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(to, &b); err != nil {
		t.Fatal(err)
	}
	return b - a
}

func countContaining(all []string, part string) (n int) {
	for _, s := range all {
		if strings.Contains(s, part) {
			n++
		}
	}
	return n
}

// checkTruth compares the pods that the cluster remembers with the server's.
func checkTruth(t *testing.T, c *Cluster, pods []*corev1.Pod) {
	t.Helper()
	mine := slices.Clone(c.pods)
	slices.SortFunc(mine, func(a, b *corev1.Pod) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	if diff := cmp.Diff(pods, mine); diff != "" {
		t.Errorf("the cluster's pods are not the server's (-server +cluster):\n%s", diff)
	}
}

// TestNoChanges: without changes there are no disturbances either.
func TestNoChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, c := populated(t, Options{Pods: 10})
		rv := server.ResourceVersion()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := c.Change(ctx); err != nil {
			t.Error(err)
		}
		if got := server.ResourceVersion(); got != rv {
			t.Errorf("resourceVersion %s, then %s", rv, got)
		}
	})
}

// TestSmallest runs a cluster of one pod.
func TestSmallest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, c := populated(t, Options{Pods: 1, Changes: 50})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := c.Change(ctx); err != nil {
			t.Error(err)
		}
		checkTruth(t, c, listed(t, server))
	})
}

// TestForget checks the main point of the demo: a watch that forget has cut off cannot be
// resumed.
func TestForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, c := populated(t, Options{Pods: 100, Changes: 100})
		source, err := fake.NewSource[*corev1.Pod](server, fake.Selection{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- c.Change(ctx) }()
		time.Sleep(8 * time.Second)

		last, err := readWatch(ctx, source, server.ResourceVersion())
		if err == nil || apierrors.IsResourceExpired(err) {
			t.Errorf("the watch ended with %v, want a broken connection", err)
		}
		time.Sleep(200 * time.Millisecond)
		if _, err := readWatch(ctx, source, last); !apierrors.IsResourceExpired(err) {
			t.Errorf("the resumed watch ended with %v, want Expired", err)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// readWatch reads until the watch ends and returns the newest version seen.
func readWatch(ctx context.Context, source reflector.Source[*corev1.Pod], from string) (last string, err error) {
	last = from
	for ev, err := range source.Watch(ctx, metav1.ListOptions{ResourceVersion: from}) {
		if err != nil {
			return last, err
		}
		last = ev.ResourceVersion
	}
	return last, nil
}

func TestSlowList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := strings.Repeat("x", 10*512+1)
		next := roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{Body: io.NopCloser(strings.NewReader(body))}, nil
		})
		slow := SlowList(next, 1)
		for url, want := range map[string]time.Duration{
			"/api/v1/pods?limit=500&resourceVersion=0":            110 * time.Millisecond,
			"/api/v1/pods?resourceVersion=7":                      0,
			"/api/v1/pods?limit=1":                                0,
			"/api/v1/pods?resourceVersion=0&watch=true":           0,
			"/api/v1/namespaces/a/configmaps?resourceVersion=0":   0,
			"/api/v1/namespaces/team-0/pods/a?resourceVersion=0":  0,
			"/api/v1/namespaces/team-0/pods?resourceVersion=0&x=": 110 * time.Millisecond,
		} {
			start := time.Now()
			resp, err := slow.RoundTrip(httptest.NewRequest(http.MethodGet, url, nil))
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(resp.Body)
			if err != nil || string(got) != body {
				t.Errorf("%s: read %d bytes and %v, want %d", url, len(got), err, len(body))
			}
			// The end of the body is one more read than there are chunks.
			if took := time.Since(start); took.Truncate(10*time.Millisecond) != want {
				t.Errorf("%s took %v, want %v", url, took, want)
			}
		}
	})
}

func TestSlowListEndsWithItsContext(t *testing.T) {
	next := roundTrip(func(*http.Request) (*http.Response, error) {
		return &http.Response{Body: io.NopCloser(strings.NewReader("never read"))}, nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/v1/pods?resourceVersion=0", nil)
	resp, err := SlowList(next, 1).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := resp.Body.Read(make([]byte, 1)); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("read %d bytes and %v after the end of the context", n, err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
