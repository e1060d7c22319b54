package live

import (
	"fmt"
	"strings"
)

// The widths of the parts of a picture, in cells.
const (
	labelWidth = 12
	timeWidth  = 7
	barWidth   = 30
	titleWidth = 100 // at most
)

// Picture draws f for a terminal of the given width, in lines without line ends. Colours
// are escape sequences. Without colours the text is the same.
func (f Frame) Picture(width int, color bool) []string {
	lines := []line{f.title(min(width, titleWidth)), nil}
	lines = append(lines, f.counters()...)
	if len(f.Nodes) > 0 {
		lines = append(lines, nil)
		lines = append(lines, f.table()...)
	}
	if len(f.Notes) > 0 {
		lines = append(lines, nil)
	}
	for _, n := range f.Notes {
		var l line
		l.add(dim, right(seconds(n.At), timeWidth)+"  ")
		l.add(plain, n.Text)
		lines = append(lines, l)
	}
	out := make([]string, len(lines))
	for i, l := range lines {
		var b strings.Builder
		l.render(&b, width, color)
		out[i] = b.String()
	}
	return out
}

func (f Frame) title(width int) line {
	var l line
	l.add(bold, f.Title)
	clock := seconds(f.Elapsed)
	if f.Total > 0 {
		clock += " of " + seconds(f.Total)
	} else {
		clock += ", ends with ctrl-c"
	}
	l.add(dim, right(clock, max(len(clock)+2, width-l.width())))
	return l
}

func (f Frame) counters() []line {
	pods := row("pods", Count(f.Objects))
	if f.SyncedIn > 0 {
		full, _ := bar(1, barWidth)
		pods.add(green, full)
		pods.add(plain, "  in cache after "+seconds(f.SyncedIn))
	} else {
		pods = row("pods", Count(f.Listed))
		part := 0.0
		if f.Expected > 0 {
			part = float64(f.Listed) / float64(f.Expected)
		}
		full, rest := bar(part, barWidth)
		pods.add(cyan, full)
		pods.add(dim, rest)
		pods.add(plain, "  "+f.listing())
	}
	version := row("last RV", f.ResourceVersion)
	version.add(dim, fmt.Sprintf("lists %d, watches %d, ", f.Lists, f.Watches))
	if f.Errors > 0 {
		version.add(yellow, "errors "+Count(f.Errors))
	} else {
		version.add(dim, "errors 0")
	}
	events := row("events", perSecond(f.EventRate))
	events.add(cyan, left(graph(f.History, barWidth), barWidth))
	events.add(dim, "  "+Count(f.Events)+" in all")
	queued := row("queue", Count(f.Queued))
	queued.add(dim, "nodes that wait for a worker")
	reconciles := row("reconciles", perSecond(f.ReconcileRate))
	reconciles.add(dim, left(Count(f.Writes)+" wrote a summary", barWidth)+"  "+Count(f.Reconciles)+" in all")
	return []line{pods, version, events, queued, reconciles}
}

// row begins a line with a name and a number.
func row(name, number string) line {
	var l line
	l.add(dim, left(name, labelWidth))
	l.add(bold, right(number, 8)+"  ")
	return l
}

// listing describes the progress of the initial list.
func (f Frame) listing() string {
	switch {
	case f.Expected > 0:
		return "of " + Count(f.Expected) + " listed"
	case f.Listed > 0:
		return "listed"
	case f.Errors > 0:
		return "no list yet"
	}
	return "asking for a list"
}

func (f Frame) table() []line {
	var head line
	head.add(dim, left("node", nodeWidth)+"   pods running pending others     cpu   memory")
	lines := []line{head}
	for _, n := range f.Nodes {
		var l line
		l.add(plain, left(cut(n.Name, nodeWidth), nodeWidth))
		l.add(bold, fmt.Sprintf(" %6d", n.Pods))
		l.add(plain, fmt.Sprintf(" %7d %7d %6d %7s %8s  ", n.Running, n.Pending, n.Others, n.CPU, n.Memory))
		full, _ := bar(float64(n.Pods)/float64(max(1, f.Nodes[0].Pods)), 16)
		l.add(cyan, full)
		lines = append(lines, l)
	}
	return lines
}

// nodeWidth is the largest number of cells of a node's name in the table.
const nodeWidth = 20

// Line returns n as one line of text, for a log.
func (n Note) Line() string { return right(seconds(n.At), timeWidth) + "  " + printable(n.Text) }

// Line returns f as one line of text, for a log.
func (f Frame) Line() string {
	head := right(seconds(f.Elapsed), timeWidth) + "  "
	if f.SyncedIn == 0 {
		return head + "pods " + Count(f.Listed) + " " + f.listing() + ", errors " + Count(f.Errors)
	}
	return head + fmt.Sprintf("pods %s, version %s, events %s, queue %s, reconciles %s (%s), writes %s, lists %d, watches %d, errors %s",
		Count(f.Objects), f.ResourceVersion, perSecond(f.EventRate), Count(f.Queued), Count(f.Reconciles),
		perSecond(f.ReconcileRate), Count(f.Writes), f.Lists, f.Watches, Count(f.Errors))
}
