package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kinform/kinform/bench/internal/chart"
	"github.com/kinform/kinform/bench/internal/measure"
)

// markdown returns the content of RESULTS.md.
func (r *report) markdown() []byte {
	var b strings.Builder
	b.WriteString("# Kinform beside client-go\n\n")
	fmt.Fprintf(&b, "Written by `%s` on %s, in %s.\n", r.command(), r.began.UTC().Format(time.DateOnly), r.took.Round(time.Second))
	fmt.Fprintf(&b, "%s.\n", r.machine)
	b.WriteString("[Performance](../docs/performance.md#how-to-read-the-numbers) says what else the machine did, and which rows come from another run.\n\n")
	if r.machine.busy() {
		b.WriteString("**The machine was busy with other work. Ratios are rough, and the ratios of stalls, tails and latencies mean little.**\n\n")
	}
	if r.quick {
		b.WriteString("**This was a quick run, which only shows that everything works. Its numbers mean nothing.**\n\n")
	}
	if slices.ContainsFunc(r.results, func(res measure.Result) bool { return whole(res.Op) }) {
		b.WriteString(wholes)
		b.WriteString(r.table(whole))
		b.WriteString("\n## Operations\n\n")
	}
	fmt.Fprintf(&b, `Both sides do the same work on the same %s pods of 4.6 KB, in one process. They take turns of some %v, so that what
else the machine does slows both alike. A number is the median of up to %d turns; a ratio is the median of the ratios of turns
that followed each other, client-go's value over kinform's, with its 95%% confidence interval (the statistics are benchstat's).
*Goal* is the minimum that we set for the row. "≈" marks a row whose interval contains the goal: another run may say otherwise.

`, chart.Short(float64(r.plan.pods)), r.plan.options.Slice, r.plan.options.Rounds)
	b.WriteString(r.table(func(op measure.Op) bool { return !whole(op) }))
	b.WriteString(notes)
	if r.drawn("heap") {
		b.WriteString("\n## Memory\n\n![Heap per pod](charts/heap.svg)\n")
	}
	if r.drawn("tables") {
		b.WriteString("\n## Memory of the tables\n\n![Heap per object, beyond the object](charts/tables.svg)\n")
	}
	if growth := r.growthTable(); growth != "" {
		b.WriteString("\n## As the store grows\n\nObjects of some 400 bytes, 3 indexes. Ratios differ from those above, where pods of 4.6 KB push each other out of the processor's cache.\n\n")
		if r.drawn("growth") {
			b.WriteString("![Cost as objects grow](charts/growth.svg)\n\n")
		}
		b.WriteString(growth)
	}
	return []byte(b.String())
}

func (r *report) drawn(chart string) bool { _, ok := r.charts()[chart+".svg"]; return ok }

// command returns the command that repeats the measurement.
func (r *report) command() string {
	s := "go run ./bench/cmd/report"
	if r.quick {
		s += " -quick"
	}
	if r.run != "" {
		s += fmt.Sprintf(" -run '%s'", r.run)
	}
	return s
}

const wholes = `## Whole controllers

The controller of [README](../README.md#a-controller) beside the same program with controller-runtime and with client-go. A row says
with which, and the columns named client-go show it. Each program is a process and has a fake API server of its own, over HTTP, in
another process. Processor time, bytes and allocations are those of the program's process, collections of garbage included. A PATCH
brings an event and another reconcile. There are 4 workers where a row names no number. Rows of join and website are of the examples of
these names beside their twins in bench/twins, each with the workers that its library starts.

`

const notes = `
- client-go runs with its default feature gates: RealFIFO, atomic and batched events. Kinform's informers have zero Options but
  for the indexes.
- **Relist of identical objects**: client-go calls OnUpdate for every object, even without a resync period, and the handler here
  does nothing. Kinform calls no handler by default, and in the second row one that asks for it (HandlerOptions.Unchanged). All times
  end when the handler has seen the next event.
- **Initial sync**: nothing is decoded, the objects exist before. client-go gets a list of pointers; a typed client's list would
  have it copy every pod once more. Kinform's source yields them one by one.
- **Over HTTP**: the server is another process on the loopback interface and sends prepared bytes. Processor time, allocations and
  memory count the client's process alone. On two processors the server takes some time from both sides' client.
- **Watch events**: client-go's come through a channel without room, as from its real watches; kinform's are pulled, as from its
  client. Sources cost next to nothing on either side.
- **Latency** is counted from the hand-over to the reflector to the start of the handler; over HTTP from the moment before the server
  writes, by the machine's clock.
- **Beside a slow handler**: four fast ones and one that takes more than 0.2 ms per event, while an event comes every 0.1 ms.
  "Alone" is a moment before, when that one was fast too. Kinform's slow one coalesces; client-go has a buffer without bounds for it.
- **After a save**: package backup of the examples beside its twin, which the go command compiles and links after a change of one
  file. Everything else is in the build cache. The test of the twin uses controller-runtime's fake client.
- **Transient heap**: what a sync allocates less what stays.
- **Writes while others iterate**: one is due every 50 µs, and its time counts from then on, so that one long wait makes many writes
  late, as it does in a program. All processors but one iterate.
- **Bytes per object**: stores were filled by one commit in chunks, as an informer writes a list. **Memory kept**: filled and emptied object by object.
- **By index, iterated** visits the objects without reading them: reading them from memory takes both sides the same time.
- Objects lie in memory in another order than in the store, so that no walk profits from neighbours.
`
