// Package rounds finds clients of a server that write the same field of an object again and again for no reason that the
// history shows.
package rounds

import "github.com/kinform/kinform/internal/fieldpaths"

// Enough is the number of writes in a row that is a loop.
const Enough = 10

// Write is a write in the history of a server. O names an object.
type Write[O comparable] struct {
	Object O
	Writer string // empty for the test itself
	Update bool   // neither the creation nor the deletion of an object
	Fields []Field
}

// Field is a field that an update changed.
type Field struct {
	Path  string
	Value uint64 // a hash of the new one
}

// Loop is a field of an object that a writer changes again and again.
type Loop[O comparable] struct {
	Object       O
	Writer, Path string
	Times        int
	// Back says that the field got values that it had before.
	Back bool
}

// Finder finds loops. Add gets all writes of a history in their order.
//
// A write has a reason if, since the writer last wrote the field, the test has written something, or anybody has created
// or deleted an object. It also has one if another writer has written something, unless that one changed the same field.
type Finder[O comparable] struct {
	now    int // number of the write
	reason int // of the last write that is a reason for everybody
	others newest
	fields map[field[O]]newest
	chains map[chain[O]]*links
}

type field[O comparable] struct {
	object O
	path   string
}

type chain[O comparable] struct {
	field[O]
	writer string
}

// links are the writes of one writer to one field, without a reason.
type links struct {
	last        int
	times, most int
	back        int
	recent      fieldpaths.Recent
}

// newest knows who wrote last, and when somebody else did.
type newest struct {
	writer     string
	at, before int
}

func (n *newest) note(writer string, at int) {
	if n.writer != writer {
		n.writer, n.before = writer, n.at
	}
	n.at = at
}

// other returns when somebody other than writer has written last.
func (n newest) other(writer string) int {
	if n.writer == writer {
		return n.before
	}
	return n.at
}

// Add adds the next write.
func (f *Finder[O]) Add(w Write[O]) {
	f.now++
	if w.Writer == "" || !w.Update {
		f.reason = f.now
		return
	}
	if f.fields == nil {
		f.fields, f.chains = map[field[O]]newest{}, map[chain[O]]*links{}
	}
	for _, changed := range w.Fields {
		is := field[O]{w.Object, changed.Path}
		c := f.chains[chain[O]{is, w.Writer}]
		if c == nil {
			c = &links{}
			f.chains[chain[O]{is, w.Writer}] = c
		}
		by := f.fields[is]
		fought := by.other(w.Writer) > c.last
		if f.reason > c.last || f.others.other(w.Writer) > c.last && !fought {
			c.times, c.back = 0, 0
		}
		c.add(f.now, changed.Value)
		by.note(w.Writer, f.now)
		f.fields[is] = by
	}
	f.others.note(w.Writer, f.now)
}

func (c *links) add(now int, value uint64) {
	if c.recent.Add(value) {
		c.back++
	}
	c.last = now
	c.times++
	c.most = max(c.most, c.times)
}

// Loops returns the loops so far, in no order.
func (f *Finder[O]) Loops() (all []Loop[O]) {
	for is, c := range f.chains {
		if c.most >= Enough {
			all = append(all, Loop[O]{Object: is.object, Writer: is.writer, Path: is.path, Times: c.most, Back: c.back > c.times/2})
		}
	}
	return all
}
