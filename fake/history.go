package fake

import (
	"sort"

	"k8s.io/apimachinery/pkg/types"
)

func (r *record) bookmark() bool { return r.old == nil && r.cur == nil }

func (r *record) key() types.NamespacedName {
	if r.cur != nil {
		return r.cur.key
	}
	return r.old.key
}

// gone returns the object of a DELETED event for this record: the state before it, at the
// resourceVersion of the record. All watches share one copy.
func (r *record) gone() (*revision, error) {
	if v := r.left.Load(); v != nil {
		return v, nil
	}
	obj, err := clone(r.old.obj)
	if err != nil {
		return nil, err
	}
	obj.SetResourceVersion(formatRV(r.rv))
	v := &revision{key: r.old.key, rv: r.rv, obj: obj, of: r.old.of}
	if !r.left.CompareAndSwap(nil, v) {
		v = r.left.Load()
	}
	return v, nil
}

// append adds r. Now and then it forgets the records up to the horizon.
func (l *log) append(r *record, horizon uint64) {
	// Trimming moves the rest, so it waits until half is to go: amortized O(1).
	if n := len(l.records); n >= 64 && l.records[n/2].rv <= horizon {
		l.trim(horizon)
	}
	l.records = append(l.records, r)
}

func (l *log) trim(horizon uint64) {
	n := l.search(horizon)
	l.records = append([]*record(nil), l.records[n:]...)
	l.first += uint64(n)
}

// newest returns the resourceVersion of the last record, 0 if there is none.
func (l *log) newest() uint64 {
	if len(l.records) == 0 {
		return 0
	}
	return l.records[len(l.records)-1].rv
}

// search returns the index of the first record after rv.
func (l *log) search(rv uint64) int {
	return sort.Search(len(l.records), func(i int) bool { return l.records[i].rv > rv })
}

// after returns the records after rv, to be read under Server.mu alone.
func (l *log) after(rv uint64) []*record { return l.records[l.search(rv):] }

// position returns the number of the first record after rv.
func (l *log) position(rv uint64) uint64 { return l.first + uint64(l.search(rv)) }

// read appends up to limit records from number pos on. It reports false when some of
// them are forgotten.
func (l *log) read(into []*record, pos uint64, limit int) ([]*record, bool) {
	if pos < l.first {
		return into, false
	}
	rest := l.records[min(pos-l.first, uint64(len(l.records))):]
	return append(into, rest[:min(limit, len(rest))]...), true
}
