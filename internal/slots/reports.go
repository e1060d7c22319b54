package slots

import "sync"

// maxTopics bounds the memory for topics. A program has few: those after the first thousand
// are not reported.
const maxTopics = 1000

// reports passes errors on, the first one of each topic.
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

// first says that topic is to be reported now.
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
