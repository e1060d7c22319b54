package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/kinform/kinform/shard"
)

// render returns the assignment as two tables, replicas and ranges.
func render(a *shard.Assignment, now time.Time) string {
	var b strings.Builder
	ranges, moved := map[string]int{}, map[string]int64{}
	for _, r := range a.Ranges {
		ranges[r.ID]++
		moved[r.ID] = max(moved[r.ID], r.Number)
	}
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "REPLICA\tSHARE\tRANGES\tWEIGHT\tRENEWED\tLAST MOVE\tLEASE\tSTATE")
	for _, m := range a.Members {
		last, state := "-", "has a Lease"
		if n := moved[m.ID]; n > 0 {
			last = ago(now, time.Unix(n, 0))
		}
		if m.Stopped {
			state = "has stopped"
		}
		fmt.Fprintf(w, "%s\t%.1f%%\t%d\t%d\t%s\t%s\t%s\t%s\n", clean(m.Identity), m.Share*100, ranges[m.ID], m.Weight, ago(now, m.Renewed), last, clean(m.Lease), state)
	}
	fmt.Fprintln(w, "\nFIRST HASH\tLAST HASH\tOWNER\tMOVES TO\tNUMBER\tCAME")
	for _, r := range a.Ranges {
		owner, came := clean(r.Owner), ago(now, time.Unix(r.Number, 0))
		if r.ID == "" {
			owner, came = "nobody", "-"
		}
		fmt.Fprintf(w, "%016x\t%016x\t%s\t%s\t%d\t%s\n", r.First, r.Last, owner, clean(r.Next), r.Number, came)
	}
	_ = w.Flush() // a Builder has no errors
	return b.String()
}

// ago says how long ago something was. Clocks differ, so a time in the future is now.
func ago(now, at time.Time) string {
	return max(now.Sub(at), 0).Round(time.Second).String() + " ago"
}

// clean replaces what would control a terminal.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}
