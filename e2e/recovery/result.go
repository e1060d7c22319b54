//go:build e2e

package recovery

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Result is the measurement of one library in the rounds of one event.
type Result struct {
	Event, Library string
	// Times are the times until the caches were right again, by round.
	Times []time.Duration
	// Requests and Connections are numbers per second, by round, from the beginning of the event
	// until the server was right. They are empty if they were not counted.
	Requests, Connections []float64
	// Decoding is the part of Times that Kinform spent on decoding, by round. It is empty if it was
	// not counted.
	Decoding []time.Duration
	// Undecoded is the time that the server takes to send the same list to a client that decodes
	// nothing, by round. It is empty if it was not measured.
	Undecoded []time.Duration
}

// Median returns the median of values, or the lower one of two. Without values it is zero.
func Median[T cmp.Ordered](values []T) T {
	if len(values) == 0 {
		return *new(T)
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)-1)/2]
}

// Write prints the results as a table in Markdown: one row per event, with the median and the range
// of each library.
func Write(w io.Writer, results []Result) error {
	var b strings.Builder
	b.WriteString("| event | rounds | Kinform | client-go |\n| --- | ---: | ---: | ---: |\n")
	for _, ev := range byEvent(results) {
		fmt.Fprintf(&b, "| %s | %d |", ev[0].Event, len(ev[0].Times))
		for _, r := range ev {
			fmt.Fprintf(&b, " %s |", r)
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// String returns the median, with the range in brackets if there is one.
func (r Result) String() string {
	if len(r.Times) == 0 {
		return "–"
	}
	text := seconds(Median(r.Times))
	if len(r.Times) > 1 {
		text += fmt.Sprintf(" (%s–%s)", seconds(slices.Min(r.Times)), seconds(slices.Max(r.Times)))
	}
	if len(r.Decoding) > 0 {
		text += fmt.Sprintf("; decoding %s", seconds(Median(r.Decoding)))
	}
	if len(r.Undecoded) > 0 {
		text += fmt.Sprintf("; the list undecoded %s", seconds(Median(r.Undecoded)))
	}
	if len(r.Requests) > 0 {
		text += fmt.Sprintf("; %.1f requests/s, %.1f connections/s", Median(r.Requests), Median(r.Connections))
	}
	return text
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

// byEvent groups neighbouring results of the same event.
func byEvent(results []Result) [][]Result {
	return slices.Collect(func(yield func([]Result) bool) {
		for len(results) > 0 {
			n := 1
			for n < len(results) && results[n].Event == results[0].Event {
				n++
			}
			if !yield(results[:n]) {
				return
			}
			results = results[n:]
		}
	})
}
