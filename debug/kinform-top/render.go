package main

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/kinform/kinform/debug"
)

// render returns the state as text. Nothing in it can control the terminal.
func render(s debug.State) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s\n\nINFORMER\tSTATE\tOBJECTS\tVERSION\tLAST EVENT\tRELISTS\tOWN WRITES\tLARGEST LAG\n", s.Time.Format(time.TimeOnly))
	for _, i := range s.Informers {
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%d\t%d\t%s\n", plain(i.Name), plain(i.State), i.Objects, plain(i.Version), age(i.LastEvent), relists(i), i.PendingWrites, lag(i))
	}
	fmt.Fprint(w, "\nQUEUE\tQUEUED\tDELAYED\tRUNNING\tIDLE\tRETRIES\tFAILED\tPANICS\n")
	queues := slices.Concat(s.Controllers, s.Queues)
	for _, q := range queues {
		failed := "-"
		if q.Counts != nil {
			failed = fmt.Sprint(q.Counts.Failed + q.Counts.GaveUp)
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%s\t%d\n", plain(q.Name), q.Queued, q.Delayed, q.Running, q.Idle, q.Retries, failed, q.Panics)
	}
	if len(s.Replicas) > 0 {
		fmt.Fprint(w, "\nREPLICA\tIDENTITY\tSHARE\tRANGES\tMOVES\tMEMBERS\tRUNNING\tPROBLEM\n")
	}
	for _, r := range s.Replicas {
		fmt.Fprintf(w, "%s\t%s\t%.1f %%\t%d\t%d\t%d\t%d\t%s\n", plain(r.Name), plain(r.Identity), 100*r.Share, r.RangeCount, r.MoveCount, len(r.Members), r.Running, plain(r.Problem))
	}
	w.Flush()
	for _, i := range s.Informers {
		if i.Failing != nil {
			fmt.Fprintf(&b, "\n%s has been failing for %s: %s\n", plain(i.Name), seconds(i.Failing.Since), plain(i.Failing.Error))
		} else if i.LastError != "" {
			fmt.Fprintf(&b, "\nLast error of %s, %s ago: %s\n", plain(i.Name), seconds(i.LastErrorAge), cut(i.LastError, 400))
		}
	}
	for _, q := range queues {
		if q.NoWorkers != "" {
			fmt.Fprintf(&b, "\nNo workers of %s: %s\n", plain(q.Name), cut(q.NoWorkers, 400))
		}
		for n, k := range q.LoopingKeys[:min(len(q.LoopingKeys), 5)] {
			if n == 0 {
				fmt.Fprintf(&b, "\nIn a loop in %s\n", plain(q.Name))
			}
			fmt.Fprintf(&b, "  %s  %s\n", plain(k.Key), cut(k.Error, 400))
		}
		failed(&b, "Failing", q.Name, q.FailingKeys)
		failed(&b, "Given up", q.Name, q.GivenUpKeys)
		caused(&b, "Running", q.Name, q.RunningKeys)
		caused(&b, "Waiting", q.Name, slices.Concat(q.QueuedKeys, q.DelayedKeys))
	}
	return b.String()
}

// failed prints the first of the keys that fail.
func failed(b *strings.Builder, title, queue string, keys []debug.Key) {
	for n, k := range keys[:min(len(keys), 5)] {
		if n == 0 {
			fmt.Fprintf(b, "\n%s in %s\n", title, plain(queue))
		}
		fmt.Fprintf(b, "  %s  %d times  %s%s\n", plain(k.Key), k.Failures, plain(k.Error), because(k))
	}
}

// caused prints the first of the keys whose cause is known.
func caused(b *strings.Builder, title, queue string, keys []debug.Key) {
	keys = slices.DeleteFunc(slices.Clone(keys), func(k debug.Key) bool { return k.Cause == "" })
	for n, k := range keys[:min(len(keys), 5)] {
		if n == 0 {
			fmt.Fprintf(b, "\n%s in %s\n", title, plain(queue))
		}
		fmt.Fprintf(b, "  %s%s\n", plain(k.Key), because(k))
	}
}

// because returns the newest cause of a key, for the end of its line.
func because(k debug.Key) string {
	if k.Cause == "" {
		return ""
	}
	return "  because: " + cut(k.Cause, 200)
}

// plain replaces unprintable characters and cuts text that is too long for a line.
func plain(s string) string { return cut(s, 80) }

// cut is plain for text of most characters.
func cut(s string, most int) string {
	runes := []rune(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s))
	if len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return string(runes)
}

func seconds(s float64) string {
	const day = 24 * 60 * 60
	if s >= 2*day {
		return fmt.Sprintf("%.1f days", s/day)
	}
	return time.Duration(s * float64(time.Second)).Round(time.Millisecond).String()
}

func age(s *float64) string {
	if s == nil {
		return "none"
	}
	return seconds(*s)
}

func relists(i debug.Informer) (n uint64) {
	for _, of := range i.Relists {
		n += of
	}
	return n
}

// lag names the handler that is furthest behind.
func lag(i debug.Informer) string {
	var most debug.Handler
	for _, h := range i.Handlers {
		if h.Lag > most.Lag {
			most = h
		}
	}
	if most.Lag == 0 {
		return "0"
	}
	return fmt.Sprintf("%d %s", most.Lag, plain(most.Name))
}
