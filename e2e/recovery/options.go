//go:build e2e

package recovery

import (
	"io"
	"regexp"
	"time"
)

// Options set the length and the number of the events. The zero value of a field means the value of
// Short.
type Options struct {
	// Outage is the time for which a server is away, Hole the time for which it is silent.
	Outage, Hole time.Duration
	// Quiet is the age of the watches when an event begins.
	Quiet time.Duration
	// Rounds is the number of times that each event happens.
	Rounds int
	// Objects is the number of ConfigMaps that are listed again after a 410.
	Objects int
	// Limit bounds the wait for a library in one round.
	Limit time.Duration
	// Only selects events by name. Nil means all.
	Only *regexp.Regexp
	// Progress gets a line about each round. Nil means no progress.
	Progress io.Writer
}

// Short returns the form that takes about two minutes. Its watches are young, so a library that
// treats old and young watches differently treats them as young.
func Short() Options {
	return Options{
		Outage: 5 * time.Second, Hole: 5 * time.Second, Quiet: time.Second,
		Rounds: 1, Objects: 2000, Limit: 2 * time.Minute,
	}
}

// Long returns the form of the nightly run, with the durations of docs/performance/faults.md.
func Long() Options {
	return Options{
		Outage: 45 * time.Second, Hole: time.Minute, Quiet: 31 * time.Second,
		Rounds: 3, Objects: 110_000, Limit: 3 * time.Minute,
	}
}

func (o Options) withDefaults() Options {
	short := Short()
	o.Outage, o.Hole, o.Quiet = orElse(o.Outage, short.Outage), orElse(o.Hole, short.Hole), orElse(o.Quiet, short.Quiet)
	o.Rounds, o.Objects, o.Limit = orElse(o.Rounds, short.Rounds), orElse(o.Objects, short.Objects), orElse(o.Limit, short.Limit)
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	return o
}

func orElse[T comparable](value, otherwise T) T {
	if value == *new(T) {
		return otherwise
	}
	return value
}
