package main

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/examples/quickstart/internal/demo"
	"github.com/kinform/kinform/fake"
)

func TestDifferences(t *testing.T) {
	pods := func(versions ...string) map[kinform.Key]*corev1.Pod {
		all := map[kinform.Key]*corev1.Pod{}
		for _, s := range versions {
			name, version, _ := strings.Cut(s, "@")
			pod := newTestPod(name, "n1", corev1.PodRunning)
			version, pod.Status.Message, _ = strings.Cut(version, "/")
			pod.ResourceVersion = version
			all[keyOf(pod)] = pod
		}
		return all
	}
	got := map[string]string{}
	differences(got, pods("same@1", "old@3", "other@4/right", "missing@5"), pods("same@1", "old@2", "other@4/wrong", "extra@6"))
	want := map[string]string{
		"default/old":     "at version 2 in the cache, at 3 on the server",
		"default/other":   "of other content in the cache, at the same version 4",
		"default/missing": "not in the cache, at version 5 on the server",
		"default/extra":   "at version 6 in the cache, not on the server",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWrongSummaries(t *testing.T) {
	c := &summarizer{namespace: "s"}
	pods := map[kinform.Key]*corev1.Pod{}
	for _, pod := range []*corev1.Pod{
		newTestPod("a", "right", corev1.PodRunning),
		newTestPod("b", "wrong", corev1.PodRunning),
		newTestPod("c", "none", corev1.PodRunning),
		newTestPod("d", "", corev1.PodPending),
	} {
		pods[keyOf(pod)] = pod
	}
	summaries := map[kinform.Key]*corev1.ConfigMap{}
	for node, phase := range map[string]corev1.PodPhase{"right": corev1.PodRunning, "wrong": corev1.PodPending, "empty": corev1.PodRunning} {
		key := c.summaryKey(node)
		summaries[key] = newSummary(key, summarize([]*corev1.Pod{newTestPod("x", node, phase)}))
	}
	got := map[string]string{}
	c.wrong(got, pods, summaries)
	want := map[string]string{
		"node wrong": "summary is map[cpu:250m memory:64Mi phase.Pending:1 pods:1], should be map[cpu:250m memory:64Mi phase.Running:1 pods:1]",
		"node none":  "has no summary",
		"node empty": "has a summary and no pods",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestVerifyFindsDifferences compares a cache with another server than its own, which
// differs in one pod for good and in one that changes all the time.
func TestVerifyFindsDifferences(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var servers [2]*fake.Server
		var clusters [2]*cluster
		for i := range servers {
			servers[i], clusters[i] = testCluster(t)
			mustCreate(t, servers[i], newTestPod("same", "n1", corev1.PodRunning))
			mustCreate(t, servers[i], newTestPod("restless", "", corev1.PodRunning))
		}
		mustCreate(t, servers[1], newTestPod("extra", "n1", corev1.PodRunning))
		s := start(t, servers[0])
		s.settle()

		log := &journal{start: time.Now()}
		mixed := *clusters[0]
		mixed.pods = clusters[1].pods
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		defer func() { cancel(); <-done }()
		go func() { // writes to the other server until the test ends
			defer close(done)
			pod, err := fake.Get[*corev1.Pod](servers[1], kinform.Key{Namespace: "default", Name: "restless"})
			for ; ctx.Err() == nil && err == nil; time.Sleep(50 * time.Millisecond) {
				pod.Status.Message += "."
				pod, err = fake.Update(servers[1], pod)
			}
		}()
		v, err := verify(ctx, &meter{cluster: &mixed, controller: s.summarizer, log: log})
		if err != nil {
			t.Fatal(err)
		}
		if names := slices.Sorted(maps.Keys(v.different)); !slices.Equal(names, []string{"default/extra", "node n1"}) || v.changing != 1 {
			t.Errorf("different: %v, changing: %d", v.different, v.changing)
		}
	})
}

func testCluster(t *testing.T) (*fake.Server, *cluster) {
	t.Helper()
	server, err := demo.NewServer()
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{namespace: summaryNamespace}
	if err := c.open(inMemory(server), inMemory(server)); err != nil {
		t.Fatal(err)
	}
	return server, c
}

// TestVerifyWithoutServer: no list, no verdict.
func TestVerifyWithoutServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, cl := testCluster(t)
		s := start(t, server)
		s.settle()
		gone := errors.New("gone")
		conn := client.Connection{URL: fake.URL, HTTP: server.Client()}
		conn.HTTP.Transport = brokenTransport{gone}
		if err := cl.open(conn, conn); err != nil {
			t.Fatal(err)
		}
		_, err := verify(t.Context(), &meter{cluster: cl, controller: s.summarizer, log: &journal{}})
		if !errors.Is(err, gone) {
			t.Errorf("got %v, want the transport's error", err)
		}
	})
}

func TestPrintVerdict(t *testing.T) {
	many := map[string]string{}
	for i := range 12 {
		many[string(rune('a'+i))] = "differs"
	}
	for _, tt := range []struct {
		v    verdict
		want string
		err  error
	}{
		{verdict{pods: 1234, summaries: 5, resourceVersion: "99", inMemory: true},
			"cache = server: 1,234 pods at resourceVersion 99, and 5 summaries of nodes (ConfigMaps in memory)\n", nil},
		{verdict{resourceVersion: "9", namespace: "prod", changing: 3},
			"cache = server: 0 pods at resourceVersion 9, and 0 summaries of nodes (ConfigMaps in namespace prod)\n" +
				"3 objects changed while they were compared\n", nil},
		{verdict{resourceVersion: "9", inMemory: true, different: map[string]string{"b": "is late", "a": "is new"}},
			"cache ≠ server: 0 pods at resourceVersion 9, and 0 summaries of nodes (ConfigMaps in memory)\n" +
				"  a: is new\n  b: is late\n", errDiffer},
		{verdict{inMemory: true, different: many},
			"cache ≠ server: 0 pods at resourceVersion , and 0 summaries of nodes (ConfigMaps in memory)\n" +
				"  a: differs\n  b: differs\n  c: differs\n  d: differs\n  e: differs\n  f: differs\n  g: differs\n" +
				"  h: differs\n  i: differs\n  j: differs\n  and 2 more\n", errDiffer},
	} {
		var b bytes.Buffer
		if err := tt.v.print(&b); !errors.Is(err, tt.err) {
			t.Errorf("%+v: %v, want %v", tt.v, err, tt.err)
		}
		if diff := cmp.Diff(tt.want, b.String()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
