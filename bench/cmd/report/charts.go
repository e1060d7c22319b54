package main

import (
	"slices"

	"github.com/kinform/kinform/bench/internal/chart"
	"github.com/kinform/kinform/bench/internal/measure"
)

// named is an operation with its label in a chart.
type named struct{ op, label string }

// headline has the operations of the chart in README.md: whole controllers, what programs do most with the defaults of both
// libraries, then single operations, and at the end two in which client-go is faster.
var headline = []named{
	{"whole/first/client-go", "whole controller, start to the first reconcile of 10,000 nodes, processor time"},
	{"whole/read/client-go", "whole controller, event and reconcile that reads, processor time"},
	{"whole/patch-4/client-go", "whole controller, event and reconcile with a PATCH, processor time"},
	{"wire/defaults", "first sync over HTTP, defaults (prepared bytes)"},
	{"resident/default", "memory per pod in a full cache, defaults"},
	{"custom/typed-watchlist", "first sync of custom resources over HTTP, typed (prepared bytes)"},
	{"wire-relist/protobuf", "relist over HTTP, protobuf, nothing changed (prepared bytes)"},
	{"wire-events/protobuf", "watch event over HTTP, protobuf, to 1 handler (prepared bytes)"},
	{"latency/http/1000", "time from server to handler over HTTP, 1,000 events/s"},
	{"watch/handlers=4", "watch event to 4 handlers, in memory"},
	{"get/lister", "get by namespace and name, in memory"},
	{"by-index/slice", "100 objects by an index, as slice, in memory"},
	{"list", "list of all objects, as slice, in memory"},
	{"update/moved", "update of a stored object, 3 indexes, in memory"},
	{"set/same/no-index", "small object stored again, no index, in memory"},
	{"fill-and-empty", "longest single write while a store grows, in memory"},
}

// residents are the pairs of bars of the chart of memory per pod, in its order.
var residents = []named{
	{"resident/default", "defaults"},
	{"resident/lean", "without managedFields"},
	{"resident/metadata", "metadata only"},
	{"resident/projected", "projected to a small struct"},
}

// tables are the pairs of bars of the chart of memory that stores take.
var tables = []named{
	{"heap/indexes=0", "no index"},
	{"heap/indexes=1", "1 index"},
	{"heap/indexes=3", "3 indexes"},
}

// charts returns the charts that have results, by file name.
func (r *report) charts() map[string][]byte {
	out := map[string][]byte{}
	if bars := headlineBars(r.rows()); len(bars) > 0 {
		out["headline.svg"] = headlineChart(bars)
	}
	if bars := r.pairs(residents); len(bars) > 0 {
		out["heap.svg"] = chart.Amounts("Heap per pod of 4.6 KB as JSON", "What an informer keeps after its first list from an API server, with the same options on both sides.", bars)
	}
	if bars := r.pairs(tables); len(bars) > 0 {
		out["tables.svg"] = chart.Amounts("Heap per object, beyond the object", "Bytes that a store takes for a pod, with no index, one and three.", bars)
	}
	if panels := r.panels(); len(panels) > 0 {
		out["growth.svg"] = chart.Growth("Cost as objects grow", panels)
	}
	return out
}

// verdict returns the first verdict on an operation, if it was measured.
func (r *report) verdict(name string) (measure.Verdict, bool) {
	for _, res := range r.results {
		if res.Op.Name == name && res.Op.Missing == "" {
			return res.Verdicts()[0], true
		}
	}
	return measure.Verdict{}, false
}

// headlineBars returns a bar for the first row of each operation of headline that has a finite ratio.
func headlineBars(rows []row) (bars []chart.Bar) {
	for _, h := range headline {
		n := slices.IndexFunc(rows, func(one row) bool { return one.Op == h.op })
		if n >= 0 && rows[n].Ratio > 0 {
			one := rows[n]
			bars = append(bars, chart.Bar{Label: h.label, Ratio: one.Ratio, Low: one.Low, High: one.High, Text: chart.Times(one.Ratio)})
		}
	}
	return bars
}

func headlineChart(bars []chart.Bar) []byte {
	return chart.Ratios("Kinform beside client-go", "How many times less time or memory Kinform takes, on a logarithmic axis, with 95% confidence. "+
		"Pods of 4.6 KB. Purple: Kinform takes more.", bars)
}

// pairs returns a bar of client-go and one of kinform for each of the operations that was measured.
func (r *report) pairs(of []named) (bars []chart.Amount) {
	for _, one := range of {
		if v, ok := r.verdict(one.op); ok {
			bars = append(bars,
				chart.Amount{Label: one.label + ", client-go", Value: v.ClientGo.Median, Text: chart.Bytes(v.ClientGo.Median), Theirs: true, Apart: len(bars) > 0},
				chart.Amount{Label: one.label + ", kinform", Value: v.Kinform.Median, Text: chart.Bytes(v.Kinform.Median)})
		}
	}
	return bars
}

// panels turns the results by size into panels by operation.
func (r *report) panels() []chart.Panel {
	var panels []chart.Panel
	for i, results := range r.growth {
		for n, res := range results {
			if n == len(panels) {
				panels = append(panels, chart.Panel{Title: res.Op.Lines[0].Title})
			}
			v := res.Verdicts()[0]
			p := &panels[n]
			p.Sizes = append(p.Sizes, float64(r.plan.sizes[i]))
			p.Ours = append(p.Ours, v.Kinform.Median)
			p.Theirs = append(p.Theirs, v.ClientGo.Median)
		}
	}
	return panels
}
