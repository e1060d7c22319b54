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
	fmt.Fprintf(w, "%s  %s\n\nINFORMER\tSTATE\tOBJECTS\tSIZE\tVERSION\tLAST EVENT\tRELISTS\tOWN WRITES\tLARGEST LAG\n", s.Time.Format(time.TimeOnly), memory(s))
	for _, i := range s.Informers {
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\t%d\t%d\t%s\n", plain(i.Name), plain(i.State), i.Objects, bytes(i.Bytes), plain(i.Version), age(i.LastEvent), relists(i), i.PendingWrites, lag(i))
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
		troubles(&b, i)
	}
	for _, q := range queues {
		if q.NoWorkers != "" {
			fmt.Fprintf(&b, "\nNo workers of %s: %s\n", plain(q.Name), cut(q.NoWorkers, 400))
		}
		keys(&b, "In a loop", q.Name, q.LoopingKeys, func(k debug.Key) string {
			return fmt.Sprintf("  %s, found %s ago", cut(k.Error, 400), seconds(k.Seconds))
		})
		keys(&b, "Failing", q.Name, q.FailingKeys, failed)
		keys(&b, "Given up", q.Name, q.GivenUpKeys, failed)
		keys(&b, "Running", q.Name, q.RunningKeys, after("for"))
		keys(&b, "Queued", q.Name, q.QueuedKeys, after("for"))
		keys(&b, "Delayed", q.Name, q.DelayedKeys, after("comes in"))
	}
	return b.String()
}

// troubles prints what is wrong with an informer, or was.
func troubles(b *strings.Builder, i debug.Informer) {
	switch {
	case i.State == "busy":
		fmt.Fprintf(b, "\n%s does not answer, as while a function of an index does not return\n", plain(i.Name))
	case i.Failing != nil:
		fmt.Fprintf(b, "\n%s has been failing for %s: %s\n", plain(i.Name), seconds(i.Failing.Since), cut(i.Failing.Error, 400))
	case i.LastError != nil:
		fmt.Fprintf(b, "\nLast error of %s, %s ago: %s\n", plain(i.Name), seconds(i.LastError.Age), cut(i.LastError.Error, 400))
	}
	if i.Quiet != nil {
		fmt.Fprintf(b, "\nThe list of %s is slow: nothing has come for %s\n", plain(i.Name), seconds(*i.Quiet))
	}
	for _, h := range i.Handlers {
		if h.Stuck != nil {
			fmt.Fprintf(b, "\nHandler %s of %s has not returned for %s, %d behind\n", plain(h.Name), plain(i.Name), seconds(*h.Stuck), h.Lag)
		}
	}
}

// keys prints the first of the keys of a list that the page has, with a note for each.
func keys(b *strings.Builder, title, queue string, all []debug.Key, note func(debug.Key) string) {
	for n, k := range all[:min(len(all), 5)] {
		if n == 0 {
			fmt.Fprintf(b, "\n%s in %s\n", title, plain(queue))
		}
		fmt.Fprintf(b, "  %s%s", plain(k.Key), note(k))
		if k.Cause != "" {
			fmt.Fprintf(b, "  because: %s", cut(k.Cause, 200))
		}
		b.WriteString("\n")
	}
}

// failed says how often a key has failed, when it did last, and why.
func failed(k debug.Key) (note string) {
	if k.Failures > 0 {
		note = fmt.Sprintf("  %d times", k.Failures)
	}
	if k.Seconds > 0 {
		note += fmt.Sprintf("  %s ago", seconds(k.Seconds))
	}
	return note + "  " + cut(k.Error, 200)
}

// after returns a note of the time of a key, if it is known.
func after(word string) func(debug.Key) string {
	return func(k debug.Key) string {
		if k.Seconds <= 0 {
			return ""
		}
		return fmt.Sprintf("  %s %s", word, seconds(k.Seconds))
	}
}

// memory says what the process needs, and how much of that its caches do.
func memory(s debug.State) string {
	var caches uint64
	for _, i := range s.Informers {
		caches += i.Bytes
	}
	return fmt.Sprintf("heap %s, from the system %s, objects in caches about %s", bytes(s.Memory.Heap), bytes(s.Memory.Total), bytes(caches))
}

func bytes(n uint64) string {
	size := float64(n)
	for _, unit := range []string{"B", "KB", "MB"} {
		if size < 1000 {
			return fmt.Sprintf("%.3g %s", size, unit)
		}
		size /= 1000
	}
	return fmt.Sprintf("%.1f GB", size)
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
	d := time.Duration(s * float64(time.Second))
	if d >= time.Minute {
		return d.Round(time.Second).String()
	}
	return d.Round(time.Millisecond).String()
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
