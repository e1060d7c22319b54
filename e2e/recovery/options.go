package recovery

import (
	"io"
	"regexp"
	"time"
)

// Options say how long the events are and how often they happen. The zero value of a field means the value of Short.
type Options struct {
	// Outage is how long a server is away, Hole how long it is silent.
	Outage, Hole time.Duration
	// Quiet is how old the watches are when an event begins.
	Quiet time.Duration
	// Rounds is how often each event happens.
	Rounds int
	// Objects is the number of ConfigMaps that are listed again after a 410.
	Objects int
	// Limit bounds the wait for a library in one round.
	Limit time.Duration
	// Only selects events by name. Nil means all.
	Only *regexp.Regexp
	// Progress is told about each round. Nil means nobody.
	Progress io.Writer
}

// Short returns the form that takes about two minutes. Watches are so young in it that a library which tells old from
// young ones treats them as young.
func Short() Options {
	return Options{
		Outage: 5 * time.Second, Hole: 5 * time.Second, Quiet: time.Second,
		Rounds: 1, Objects: 2000, Limit: 2 * time.Minute,
	}
}

// Long returns the form of the nightly run, with the durations of docs/performance.md.
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
