package main

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/examples/quickstart/internal/live"
	"github.com/kinform/kinform/reflector"
)

const (
	tableRows   = 6
	historySize = 60
)

// meter reads the controller's progress.
type meter struct {
	cluster    *cluster
	controller *summarizer
	log        *journal
	total      time.Duration // duration of the program, zero for no end

	expected atomic.Int64 // number of pods on the server
	synced   atomic.Int64 // duration of the initial list, in nanoseconds

	// Owned by the goroutine that calls frame.
	events, reconciles live.Rate
	history            []float64
}

// expect asks the server for the number of pods, to show the progress of the initial list:
// servers answer a first list from their cache in one piece, without that number.
func (m *meter) expect(ctx context.Context) {
	count := 0
	page, err := m.cluster.pods.List(ctx, metav1.ListOptions{Limit: 1}, func(reflector.Event[*corev1.Pod], error) bool {
		count++
		return true
	})
	if err != nil {
		return // the informer's own list will meet the same error and report it
	}
	if page.RemainingItemCount != nil {
		count += int(*page.RemainingItemCount)
	}
	m.expected.Store(int64(count))
}

// waitForSync measures the duration of the initial list.
func (m *meter) waitForSync(ctx context.Context) {
	if m.controller.pods.WaitForSync(ctx) == nil {
		m.synced.Store(max(1, int64(time.Since(m.log.start)))) // zero is not synced
	}
}

// frame returns the current frame. Only one goroutine may call it at a time.
func (m *meter) frame(now time.Time) live.Frame {
	stats := m.controller.pods.AsInformer().Stats()
	f := live.Frame{
		Title:           "kinform: " + m.cluster.title,
		Elapsed:         now.Sub(m.log.start),
		Total:           m.total,
		SyncedIn:        time.Duration(m.synced.Load()),
		Listed:          stats.Listed,
		Expected:        max(stats.Expected, uint64(m.expected.Load())),
		Objects:         stats.Objects,
		ResourceVersion: stats.ResourceVersion,
		Events:          stats.Events,
		Queued:          m.controller.nodes.Queue().Len(),
		Reconciles:      m.controller.reconciles.Load(),
		Writes:          m.controller.writes.Load(),
		Lists:           stats.Lists,
		Watches:         stats.Watches,
		Nodes:           busiest(m.controller.summaries.List("", nil)),
	}
	f.Errors, _ = m.log.failures()
	f.EventRate = m.events.Sample(now, f.Events)
	f.ReconcileRate = m.reconciles.Sample(now, f.Reconciles)
	m.history = append(m.history, f.EventRate)
	if len(m.history) > historySize {
		m.history = slices.Delete(m.history, 0, len(m.history)-historySize)
	}
	f.History = m.history
	return f
}

// busiest reads the rows of the table from the summaries that the controller wrote.
func busiest(summaries []*corev1.ConfigMap) []live.Node {
	rows := make([]live.Node, 0, len(summaries))
	for _, s := range summaries {
		number := func(name string) int {
			n, _ := strconv.Atoi(s.Data[name]) // nothing counted is zero
			return n
		}
		row := live.Node{
			Name:    nodeOf(s.Name),
			Pods:    number("pods"),
			Running: number("phase." + string(corev1.PodRunning)),
			Pending: number("phase." + string(corev1.PodPending)),
			CPU:     amount(s.Data["cpu"], 1, ""),
			Memory:  amount(s.Data["memory"], 1<<30, "Gi"),
		}
		row.Others = row.Pods - row.Running - row.Pending
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b live.Node) int {
		return cmp.Or(cmp.Compare(b.Pods, a.Pods), cmp.Compare(a.Name, b.Name))
	})
	return rows[:min(len(rows), tableRows)]
}

// amount formats a quantity in a unit, with one decimal.
func amount(quantity string, unit float64, name string) string {
	q, err := resource.ParseQuantity(quantity)
	if err != nil {
		return "?" // somebody wrote to the summary
	}
	return strconv.FormatFloat(q.AsApproximateFloat64()/unit, 'f', 1, 64) + name
}
