package slots

import "sync"

// maxTopics bounds the memory for topics. Programs have few; further topics are not reported.
const maxTopics = 1000

// reports passes on the first error of each topic.
type reports struct {
	onError func(error) // set once, may be nil

	mu    sync.Mutex
	known map[string]bool // guarded by mu: the topics reported, at most maxTopics
}

func (r *reports) report(topic string, err error) {
	if r.onError != nil && r.first(topic) {
		r.onError(err)
	}
}

// first reports whether topic is new, and records it.
func (r *reports) first(topic string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known[topic] || len(r.known) == maxTopics {
		return false
	}
	if r.known == nil {
		r.known = map[string]bool{}
	}
	r.known[topic] = true
	return true
}
