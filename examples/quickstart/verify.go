package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/examples/quickstart/internal/live"
	"github.com/kinform/kinform/reflector"
)

const (
	// verifyFor is the time limit for the caches to equal the server.
	verifyFor = 15 * time.Second
	// compareTimeout is the time limit for listing everything.
	compareTimeout = time.Minute
	// catchUp is the time limit for a cache to reach the version of a list. In a real cluster
	// that can take until the next bookmark.
	catchUp = 2 * time.Second
	// lookAgain is the wait before the next comparison while something differs.
	lookAgain = 200 * time.Millisecond
	// showDifferences is the number of differences to print.
	showDifferences = 10
)

var errDiffer = errors.New("the cache differs from the server")

// verdict is the result of a comparison.
type verdict struct {
	pods, summaries int
	resourceVersion string
	inMemory        bool
	namespace       string

	// different describes the wrong objects. changing is the number of objects that also
	// differ, but differently than a moment ago: the cluster is still changing.
	different map[string]string
	changing  int
}

// verify compares the caches with the server's current lists, and the summaries with their
// expected contents. It compares again while an object differs, until time is up: a real
// cluster changes while it is being listed.
func verify(ctx context.Context, m *meter) (verdict, error) {
	end := time.Now().Add(verifyFor)
	var before map[string]string
	for {
		v, err := m.compare(ctx)
		if err != nil {
			return v, fmt.Errorf("compare with the server: %w", err)
		}
		if len(v.different) == 0 {
			return v, nil
		}
		if time.Now().After(end) {
			all := len(v.different)
			maps.DeleteFunc(v.different, func(name, how string) bool { return before[name] != how })
			v.changing = all - len(v.different)
			return v, nil
		}
		before = v.different
		select {
		case <-time.After(lookAgain):
		case <-ctx.Done():
			return v, context.Cause(ctx)
		}
	}
}

// compare makes one comparison.
func (m *meter) compare(ctx context.Context) (verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, compareTimeout)
	defer cancel()
	c := m.controller
	pods, rv, err := list(ctx, m.cluster.pods)
	if err != nil {
		return verdict{}, err
	}
	if m.cluster.bookmark != nil {
		m.cluster.bookmark()
	}
	waiting, stop := context.WithTimeout(ctx, catchUp)
	defer stop()
	// If the cache does not get there, the comparison shows how far it is.
	_ = c.pods.AsInformer().WaitForRV(waiting, rv)
	v := verdict{
		pods:            len(pods),
		resourceVersion: rv,
		inMemory:        m.cluster.inMemory,
		namespace:       m.cluster.namespace,
		different:       map[string]string{},
	}
	differences(v.different, pods, maps.Collect(c.pods.AsInformer().Store().All()))

	summaries, _, err := list(ctx, m.cluster.summaries)
	if err != nil {
		return v, err
	}
	v.summaries = len(summaries)
	differences(v.different, summaries, maps.Collect(c.summaries.AsInformer().Store().All()))
	c.wrong(v.different, pods, summaries)
	return v, nil
}

// list returns the server's objects and the resourceVersion of the list.
func list[T metav1.Object](ctx context.Context, from *client.Resource[T]) (map[kinform.Key]T, string, error) {
	objects := map[kinform.Key]T{}
	meta, err := from.List(ctx, metav1.ListOptions{}, func(ev reflector.Event[T], err error) bool {
		if err == nil { // otherwise the informer has skipped and reported it, too
			objects[keyOf(ev.Object)] = ev.Object
		}
		return true
	})
	return objects, meta.ResourceVersion, err
}

func keyOf(obj metav1.Object) kinform.Key {
	return kinform.Key{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// differences adds to found how cached differs from listed.
func differences[T metav1.Object](found map[string]string, listed, cached map[kinform.Key]T) {
	for key, want := range listed {
		have, ok := cached[key]
		switch {
		case !ok:
			found[key.String()] = "not in the cache, at version " + want.GetResourceVersion() + " on the server"
		case have.GetResourceVersion() != want.GetResourceVersion():
			found[key.String()] = "at version " + have.GetResourceVersion() + " in the cache, at " + want.GetResourceVersion() + " on the server"
		case !equality.Semantic.DeepEqual(have, want):
			found[key.String()] = "of other content in the cache, at the same version " + want.GetResourceVersion()
		}
	}
	for key, have := range cached {
		if _, ok := listed[key]; !ok {
			found[key.String()] = "at version " + have.GetResourceVersion() + " in the cache, not on the server"
		}
	}
}

// wrong adds to found the summaries that do not match the pods.
func (s *summarizer) wrong(found map[string]string, pods map[kinform.Key]*corev1.Pod, summaries map[kinform.Key]*corev1.ConfigMap) {
	onNode := map[string][]*corev1.Pod{}
	for _, pod := range pods {
		if node := pod.Spec.NodeName; node != "" {
			onNode[node] = append(onNode[node], pod)
		}
	}
	for node, pods := range onNode {
		want := summarize(pods)
		have, ok := summaries[s.summaryKey(node)]
		switch {
		case !ok:
			found["node "+node] = "has no summary"
		case !maps.Equal(want, have.Data):
			found["node "+node] = fmt.Sprintf("summary is %v, should be %v", have.Data, want)
		}
	}
	for key := range summaries {
		if node := nodeOf(key.Name); onNode[node] == nil {
			found["node "+node] = "has a summary and no pods"
		}
	}
}

// print writes the verdict for people. It returns errDiffer if something differs.
func (v verdict) print(w io.Writer) error {
	sign, err := "=", error(nil)
	if len(v.different) > 0 {
		sign, err = "≠", errDiffer
	}
	where := "in namespace " + v.namespace
	if v.inMemory {
		where = "in memory"
	}
	fmt.Fprintf(w, "cache %s server: %s pods at resourceVersion %s, and %s summaries of nodes (ConfigMaps %s)\n",
		sign, live.Count(v.pods), v.resourceVersion, live.Count(v.summaries), where)
	if v.changing > 0 {
		fmt.Fprintf(w, "%s objects changed while they were compared\n", live.Count(v.changing))
	}
	names := slices.Sorted(maps.Keys(v.different))
	for i, name := range names {
		if i == showDifferences {
			fmt.Fprintf(w, "  and %d more\n", len(names)-i)
			break
		}
		fmt.Fprintf(w, "  %s: %s\n", name, v.different[name])
	}
	return err
}

// unsynced returns the reason why nothing can be compared, or nil.
func (m *meter) unsynced() error {
	if isClosed(m.controller.pods.AsInformer().Synced()) {
		return nil
	}
	_, last := m.log.failures()
	if last == nil {
		return errors.New("the time was too short to list the pods")
	}
	if req := (*reflector.RequestError)(nil); errors.As(last, &req) {
		last = req.Err
	}
	return fmt.Errorf("the pods were never listed: %w", last)
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}
