// Package live shows what a running controller does: as a picture that is drawn again and
// again on a terminal, or as one line at a time.
//
//	numbers ─▶ Frame ─┬─▶ Frame.Picture ─▶ Screen     a terminal
//	                  └─▶ Frame.Line                   anything else
//
// A Frame is plain data and drawing it is a pure function. Only Screen knows of terminals,
// and only Rate of time. Nothing here starts a goroutine.
package live

import "time"

// Frame is what is shown at one moment. The zero value can be drawn.
type Frame struct {
	// Title says what is being watched.
	Title string
	// Elapsed is the time since the start, and Total how long it will be; zero Total
	// means until interrupted.
	Elapsed, Total time.Duration

	// SyncedIn is how long the initial list took, zero while it is not complete. Until
	// then Listed of Expected objects are there, Expected being zero if it is unknown.
	SyncedIn         time.Duration
	Listed, Expected uint64
	// Objects is the number of objects in the cache, ResourceVersion the cache's.
	Objects         int
	ResourceVersion string

	// Events is what the watch brought so far, EventRate how much of it in a second.
	// History has earlier rates, the newest last.
	Events    uint64
	EventRate float64
	History   []float64

	// Queued is the number of keys that wait.
	Queued int
	// Reconciles counts the calls, Writes those that changed something.
	Reconciles, Writes uint64
	ReconcileRate      float64

	// Lists, Watches and Errors count what the names say.
	Lists, Watches, Errors uint64

	// Nodes is the table: the busiest nodes, the busiest first.
	Nodes []Node
	// Notes is what happened lately, the newest last.
	Notes []Note
}

// Node is a row of the table.
type Node struct {
	Name                           string
	Pods, Running, Pending, Others int
	CPU, Memory                    string
}

// Note is something that happened at a moment after the start.
type Note struct {
	At   time.Duration
	Text string
}
