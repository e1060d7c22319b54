package shard

import (
	"context"
	"strings"
	"sync"

	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/shard/internal/replica"
	"github.com/kinform/kinform/shard/leader"
)

// watcher is the sink of the reflector of Leases. It makes a view of each state, and only of whole
// ones. It is no informer: it needs no events, decodes each Lease once, and learns of a restored server.
type watcher struct {
	name string

	// Of the reflector's goroutine.
	leases  map[string]*entry // by name
	listing map[string]*entry
	skipped []string // keys in the list, empty if unknown, that could not be decoded
	rewound bool

	mu    sync.Mutex
	view  *replica.View // not taken yet
	last  *replica.View
	ready chan struct{} // one element: there is a view
}

// entry is a Lease, decoded once.
type entry struct {
	record *replica.Record
	sheet  *replica.Sheet
}

func newWatcher(name string) *watcher {
	return &watcher{name: name, leases: map[string]*entry{}, listing: map[string]*entry{}, ready: make(chan struct{}, 1)}
}

func (w *watcher) entry(l *leader.Lease) *entry {
	if l.Name == w.name {
		return &entry{sheet: sheetOf(l)}
	}
	return &entry{record: recordOf(l)}
}

// Listed implements reflector.Sink.
func (w *watcher) Listed(_ context.Context, ev reflector.Event[*leader.Lease]) error {
	w.put(w.listing, ev)
	return nil
}

func (w *watcher) put(leases map[string]*entry, ev reflector.Event[*leader.Lease]) {
	switch ev.Type {
	case reflector.Deleted:
		delete(leases, ev.Object.Name)
	case reflector.Added, reflector.Modified:
		leases[ev.Object.Name] = w.entry(ev.Object)
	}
}

// Skipped implements reflector.Sink.
func (w *watcher) Skipped(bad *reflector.ObjectError) { w.skipped = append(w.skipped, bad.Key) }

// Replace implements reflector.Sink.
func (w *watcher) Replace(context.Context, string) error {
	for _, key := range w.skipped {
		for name, old := range w.leases {
			if w.listing[name] == nil && (key == "" || strings.HasSuffix(key, "/"+name)) {
				w.listing[name] = old
			}
		}
	}
	w.leases = w.listing
	w.Discard()
	w.publish()
	return nil
}

// Discard implements reflector.Sink.
func (w *watcher) Discard() { w.listing, w.skipped = map[string]*entry{}, nil }

// Apply implements reflector.Sink.
func (w *watcher) Apply(_ context.Context, ev reflector.Event[*leader.Lease]) error {
	if ev.Type == reflector.Bookmark {
		return nil
	}
	w.put(w.leases, ev)
	w.publish()
	return nil
}

// Rewound serves reflectors.
func (w *watcher) Rewound(certain bool) { w.rewound = w.rewound || certain }

// publish makes the present state the newest view. One that nobody has taken is replaced.
func (w *watcher) publish() {
	v := viewOf(w.name, w.leases, w.rewound)
	w.rewound = false
	w.mu.Lock()
	if w.view != nil {
		v.Rewound = v.Rewound || w.view.Rewound
	}
	w.view, w.last = v, v
	w.mu.Unlock()
	signal(w.ready)
}

func (w *watcher) take() *replica.View {
	w.mu.Lock()
	defer w.mu.Unlock()
	v := w.view
	w.view = nil
	return v
}
