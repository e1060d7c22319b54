// Package live shows the work of a running controller, either as a picture on a terminal
// that is redrawn again and again, or as lines of text.
//
//	numbers ─▶ Frame ─┬─▶ Frame.Picture ─▶ Screen     a terminal
//	                  └─▶ Frame.Line                   anything else
//
// A Frame is plain data, and drawing it is a pure function. Only Screen uses the terminal,
// and only Rate uses time. The package starts no goroutine.
package live

import "time"

// Frame has the numbers of one moment. The zero value can be drawn.
type Frame struct {
	// Title names the watched server and objects.
	Title string
	// Elapsed is the time since the start, Total the time of the whole run. A zero Total
	// means: until interrupted.
	Elapsed, Total time.Duration

	// SyncedIn is the time that the initial list took. It is zero until the list is
	// complete. Until then the cache has Listed of Expected objects. Expected is zero if it
	// is unknown.
	SyncedIn         time.Duration
	Listed, Expected uint64
	// Objects is the number of objects in the cache, ResourceVersion the cache's version.
	Objects         int
	ResourceVersion string

	// Events is the number of watch events so far, EventRate their number per second.
	// History has earlier rates, the newest last.
	Events    uint64
	EventRate float64
	History   []float64

	// Queued is the number of waiting keys.
	Queued int
	// Reconciles is the number of calls, Writes the number of those that changed an object.
	Reconciles, Writes uint64
	ReconcileRate      float64

	// Lists, Watches and Errors are their numbers so far.
	Lists, Watches, Errors uint64

	// Nodes is the table of the busiest nodes, the busiest first.
	Nodes []Node
	// Notes are the latest events, the newest last.
	Notes []Note
}

// Node is a row of the table.
type Node struct {
	Name                           string
	Pods, Running, Pending, Others int
	CPU, Memory                    string
}

// Note is an event at a time after the start.
type Note struct {
	At   time.Duration
	Text string
}
