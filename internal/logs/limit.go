package logs

import (
	"maps"
	"sync"
	"time"
)

const (
	// period is how long the same failure is not written again.
	period = time.Minute
	// maxTopics bounds the failures that are kept apart, and so the records in a period.
	maxTopics = 1000
)

// limit lets through one record in a period for each topic. A key that fails for ever, or a list of
// a million bad objects, does not fill a disk or hide what else is logged. A record says how many
// of its topic were left out since the one before. The topics beyond maxTopics share one record in
// a period. The methods of a nil limit let everything through.
type limit struct {
	mu     sync.Mutex
	topics map[topic]*record
	swept  time.Time
}

// topic identifies failures that count as the same one. The text of the error cannot: it may
// contain a port or a time.
type topic struct {
	message, resource, key string
	kind                   any // the reflect.Type of the error, without its name: see package typekind
}

// record says when a line about a topic was written last, and how many were omitted since.
type record struct {
	at      time.Time
	omitted uint64
}

// due reports whether a failure is to be written, and how many were left out before it.
func (l *limit) due(t topic) (omitted uint64, due bool) {
	if l == nil {
		return 0, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	last := l.last(t, now)
	if !last.at.IsZero() && now.Sub(last.at) < period {
		last.omitted++
		return 0, false
	}
	omitted = last.omitted
	*last = record{at: now}
	return omitted, true
}

// last returns what was written about a topic, or about all those that there is no room for.
func (l *limit) last(t topic, now time.Time) *record {
	if l.topics[t] == nil && l.full(now) {
		t = topic{}
	}
	last := l.topics[t]
	if last == nil {
		last = &record{}
		l.topics[t] = last
	}
	return last
}

// full reports whether there is no room for another topic. Once in a period it makes room.
func (l *limit) full(now time.Time) bool {
	if len(l.topics) >= maxTopics && now.Sub(l.swept) >= period {
		l.swept = now
		maps.DeleteFunc(l.topics, func(_ topic, last *record) bool { return now.Sub(last.at) >= period })
	}
	return len(l.topics) >= maxTopics
}
