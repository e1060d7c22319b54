package main

import (
	"strings"

	"github.com/kinform/kinform/bench/internal/chart"
	"github.com/kinform/kinform/bench/internal/measure"
)

// headline has the operations of the chart in README.md: those that programs do most, including
// those in which we are not faster.
var headline = []struct{ op, label string }{
	{"wire/json-watchlist", "first sync from an API server, JSON, streaming list"},
	{"wire/protobuf-list", "first sync from an API server, protobuf, LIST"},
	{"relist/same", "relist, nothing changed"},
	{"watch/handlers=4", "watch event to 4 handlers"},
	{"latency/http/1000", "watch event to handler over HTTP, median, 1,000/s"},
	{"update/moved", "update of an object with 3 indexes"},
	{"by-index/iterated", "100 objects by an index"},
	{"list", "list of all objects"},
}

// residents has the bars of the chart of memory per pod, in its order.
var residents = []struct{ op, label string }{
	{"resident/default", "kinform, default options"},
	{"resident/lean", "without managedFields"},
	{"resident/shared", "without managedFields, equal parts shared"},
	{"resident/metadata", "metadata only"},
	{"resident/projected", "projected to a small struct"},
}

// charts returns the charts that have results, by file name.
func (r *report) charts() map[string][]byte {
	out := map[string][]byte{}
	if bars := r.headlineBars(); len(bars) > 0 {
		out["headline.svg"] = chart.Ratios("Kinform beside client-go", "How many times less kinform takes, logarithmic, with 95% confidence. "+
			"Pods of 4.6 KB. Purple: kinform takes more.", bars)
	}
	if bars := r.bars(); len(bars) > 0 {
		out["ratios.svg"] = chart.Ratios("Kinform beside client-go: ratio per operation", "Times less than client-go, logarithmic. "+
			"Upright mark: the goal. Orange: goal not reached. Purple: a loss. Thin line: 95% confidence.", bars)
	}
	if bars := r.residentBars(); len(bars) > 0 {
		out["heap.svg"] = chart.Amounts("Heap per pod of 4.6 KB as JSON", "What an informer keeps after its first list from an API server.", bars)
	}
	if bars := r.tableBars(); len(bars) > 0 {
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

func (r *report) headlineBars() (bars []chart.Bar) {
	for _, h := range headline {
		if v, ok := r.verdict(h.op); ok {
			bars = append(bars, chart.Bar{Label: h.label, Ratio: v.Ratio.Median, Low: v.Ratio.Low, High: v.Ratio.High, Text: chart.Times(v.Ratio.Median)})
		}
	}
	return bars
}

func (r *report) bars() (bars []chart.Bar) {
	for _, res := range r.results {
		if res.Op.Missing != "" {
			continue
		}
		for _, v := range res.Verdicts() {
			bars = append(bars, chart.Bar{
				Label: v.Line.Title, Ratio: v.Ratio.Median, Low: v.Ratio.Low, High: v.Ratio.High,
				Goal: v.Line.Reach, Missed: !v.Reached, Text: chart.Times(v.Ratio.Median),
			})
		}
	}
	return bars
}

func (r *report) residentBars() (bars []chart.Amount) {
	for i, h := range residents {
		v, ok := r.verdict(h.op)
		if !ok {
			continue
		}
		if i == 0 {
			bars = append(bars, chart.Amount{Label: "client-go", Value: v.ClientGo.Median, Text: chart.Bytes(v.ClientGo.Median), Theirs: true})
		}
		bars = append(bars, chart.Amount{Label: h.label, Value: v.Kinform.Median, Text: chart.Bytes(v.Kinform.Median)})
	}
	return bars
}

func (r *report) tableBars() (bars []chart.Amount) {
	for _, res := range r.results {
		number, ok := strings.CutPrefix(res.Op.Name, "heap/indexes=")
		if !ok {
			continue
		}
		label := number + " indexes"
		if number == "1" {
			label = "1 index"
		}
		v := res.Verdicts()[0]
		bars = append(bars,
			chart.Amount{Label: label + ", client-go", Value: v.ClientGo.Median, Text: chart.Bytes(v.ClientGo.Median), Theirs: true, Apart: len(bars) > 0},
			chart.Amount{Label: label + ", kinform", Value: v.Kinform.Median, Text: chart.Bytes(v.Kinform.Median)})
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
