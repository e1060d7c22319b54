package main

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"slices"
	"text/tabwriter"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/with/kubernetes/core"
)

// pod is the part of a Pod that the cache holds.
type pod struct {
	key   kinform.Key
	phase corev1.PodPhase
	ready bool
}

func project(p *corev1.Pod) (pod, error) {
	small := pod{key: kinform.Key{Namespace: p.Namespace, Name: p.Name}, phase: p.Status.Phase}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			small.ready = c.Status == corev1.ConditionTrue
		}
	}
	return small, nil
}

// dashboard is a page with the pods of each namespace. It only reads: each request is answered from
// the cache, and causes none to the API server.
type dashboard struct{ pods *kinform.Informer[pod] }

// newDashboard returns a page whose informer is not running.
func newDashboard(server client.Connection) (dashboard, error) {
	pods, err := client.New(server, core.Pods, client.Options{})
	if err != nil {
		return dashboard{}, err
	}
	key := func(p pod) (kinform.Key, error) { return p.key, nil }
	inf, err := informer.New(reflector.Map(pods, project), key, informer.Options[pod]{})
	return dashboard{inf}, err
}

// ServeHTTP answers 503 until the cache is filled. After that the page is there even if the API server
// is not, and says that it is old.
func (d dashboard) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	select {
	case <-d.pods.Synced():
	default:
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprintln(w, "The first list is under way.") // if the reader is gone, nobody misses it
		d.warn(w)
		return
	}
	d.warn(w)
	now := d.pods.Store().Snapshot() // all rows are of one moment
	_ = table(w, now.Values())
}

// warn says so if lists and watches fail.
func (d dashboard) warn(w io.Writer) {
	if f := d.pods.Stats().Failing; f.Err != nil {
		_, _ = fmt.Fprintf(w, "No news since %s: %v\n\n", f.Since.UTC().Format("15:04:05"), f.Err)
	}
}

// row counts the pods of a namespace.
type row struct {
	namespace                       string
	all, ready, unready, done, lost int
}

func (r *row) add(p pod) {
	r.all++
	switch {
	case p.phase == corev1.PodSucceeded:
		r.done++
	case p.phase == corev1.PodFailed:
		r.lost++
	case p.ready:
		r.ready++
	default:
		r.unready++
	}
}

// table writes a row per namespace, those with the most trouble first.
func table(w io.Writer, pods iter.Seq[pod]) error {
	rows := map[string]*row{}
	for p := range pods {
		r := rows[p.key.Namespace]
		if r == nil {
			r = &row{namespace: p.key.Namespace}
			rows[p.key.Namespace] = r
		}
		r.add(p)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "NAMESPACE\tPODS\tREADY\tNOT READY\tDONE\tFAILED") // Flush has the error
	worst := func(a, b *row) int {
		return cmp.Or(cmp.Compare(b.unready+b.lost, a.unready+a.lost), cmp.Compare(a.namespace, b.namespace))
	}
	for _, r := range slices.SortedFunc(maps.Values(rows), worst) {
		_, _ = fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\n", r.namespace, r.all, r.ready, r.unready, r.done, r.lost)
	}
	return t.Flush()
}
