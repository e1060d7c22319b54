package loops

import (
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a key under a detector, the versions of objects, and the time.
type world struct {
	t        *testing.T
	d        *Detector
	now      time.Time
	versions map[uint64]uint64
	by       uint64 // the object that others have changed before the next call
	news     bool   // more than the status of it
	found    []Loop
	asked    int // calls whose fields the detector wanted
}

func newWorld(t *testing.T) *world {
	return &world{t: t, d: New(), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), versions: map[uint64]uint64{}}
}

const theKey, shop, deployment, settings = 1, 10, 20, 30

// others change the status of an object, for which the key is queued.
func (w *world) others(object uint64) {
	w.versions[object]++
	w.by = object
}

// cause is why a call is made.
type cause int

const (
	own    cause = iota // only events of own writes
	events              // events, not all of own writes
	other               // something else
)

// call ends a call a second later. It writes the objects of the fields, which are those that changed.
func (w *world) call(why cause, changed ...Field) {
	w.now = w.now.Add(time.Second)
	if w.by != 0 && w.d.Listens() && w.d.Hears(theKey) {
		w.d.Hear(theKey, w.by, w.news)
	}
	c := &Call{Key: theKey, Events: why != other, Own: why == own, Now: w.now, Name: "prod/shop"}
	w.news, w.by = false, 0
	for i, f := range changed {
		object := uint64(shop)
		if f.Object == "deployment" {
			object = deployment
		}
		changed[i].Of = object
		base := w.versions[object]
		w.versions[object]++
		c.Writes.Add(Write{object, base + 1, w.versions[object] + 1})
	}
	if len(changed) == 0 {
		w.d.Idle(theKey)
		return
	}
	if w.d.Suspects(theKey, w.now) {
		w.asked++
		c.Fields = changed
	}
	if l, found := w.d.Ended(c); found {
		w.found = append(w.found, l)
	}
}

func field(path string, old, now uint64) Field {
	return Field{Object: "shop", Path: path, Old: old, New: now}
}

func deploymentField(path string, old, now uint64) Field {
	return Field{Object: "deployment", Path: path, Old: old, New: now}
}

// ready is a number in the status, which goes up.
func ready(n uint64) Field {
	f := field("status.ready", n, n+1)
	f.Progress, f.Step = true, 1
	return f
}

// token is a text in the status that may be a cursor.
func token(old, now uint64) Field {
	f := field("status.next", old, now)
	f.Progress, f.Step = true, 1
	return f
}

// rounds calls round with 1 to n.
func (w *world) rounds(n uint64, round func(w *world, n uint64)) {
	for i := range n {
		round(w, i+1)
	}
}

// What is a loop is found within 20 rounds, and reported once.
func TestLoops(t *testing.T) {
	for name, c := range map[string]struct {
		round func(w *world, n uint64)
		want  Loop
	}{
		"a timestamp": {
			func(w *world, n uint64) { w.call(own, field("status.time", n, n+1)) },
			Loop{Reconciles: 16, Rounds: 16, Time: 15 * time.Second, Object: "shop", Path: "status.time"},
		},
		"a number that goes up and down": {
			func(w *world, n uint64) {
				f := ready(n)
				f.Step = 1 - 2*int(n/3%2)
				w.call(own, f)
			},
			Loop{Reconciles: 16, Rounds: 16, Time: 15 * time.Second, Object: "shop", Path: "status.ready"},
		},
		"values that come back": {
			func(w *world, n uint64) { w.call(own, field("spec.list", n%2, (n+1)%2)) },
			Loop{Reconciles: 16, Rounds: 16, Time: 15 * time.Second, Object: "shop", Path: "spec.list"},
		},
		"three values, and a field that changes at times": {
			func(w *world, n uint64) {
				changed := []Field{field("spec.list", n%3, (n+1)%3)}
				if n%5 == 0 {
					changed = append(changed, field("a", n, n+1))
				}
				w.call(own, changed...)
			},
			Loop{Reconciles: 16, Rounds: 16, Time: 15 * time.Second, Object: "shop", Path: "spec.list"},
		},
		"texts of the status that come back": {
			func(w *world, n uint64) { w.call(own, token(n%4, (n+1)%4)) },
			Loop{Reconciles: 16, Rounds: 16, Time: 15 * time.Second, Object: "shop", Path: "status.next"},
		},
		"a field that others set back, with resyncs and calls without work between": {
			func(w *world, n uint64) {
				w.call(own)
				w.call(other)
				w.others(deployment)
				w.call(events, deploymentField("spec.replicas", 1, 2), field("status.time", n, n+1))
			},
			Loop{Reconciles: 46, Rounds: 16, Time: 45 * time.Second, Object: "deployment", Path: "spec.replicas", Fight: true, Answered: true},
		},
		"a field that others set back each ten minutes, with news": {
			func(w *world, n uint64) {
				w.now = w.now.Add(10 * time.Minute)
				w.news = true
				w.others(deployment)
				w.call(events, deploymentField("spec.replicas", 1, 2))
			},
			Loop{Reconciles: 16, Rounds: 16, Time: 15 * (10*time.Minute + time.Second), Object: "deployment", Path: "spec.replicas", Fight: true, Answered: true},
		},
		"a time in the status, which others change, too": {
			func(w *world, n uint64) {
				w.others(shop)
				f := field("status.time", 2*n, 2*n+1)
				f.Progress = true
				w.call(events, f)
			},
			Loop{Reconciles: 16, Rounds: 16, Time: 15 * time.Second, Object: "shop", Path: "status.time", Fight: true, Answered: true},
		},
		"an annotation that others answer, while one that they do not answer changes, too": {
			func(w *world, n uint64) {
				w.others(deployment)
				w.call(events, field("metadata.annotations.at", n, n+1), deploymentField("metadata.labels.at", n, n+1))
			},
			Loop{Reconciles: 16, Rounds: 16, Time: 15 * time.Second, Object: "deployment", Path: "metadata.labels.at", Answered: true},
		},
		"an annotation that others answer with a new status": {
			func(w *world, n uint64) {
				w.others(deployment)
				w.call(events, deploymentField("metadata.annotations.at", n, n+1))
			},
			Loop{Reconciles: 16, Rounds: 16, Time: 15 * time.Second, Object: "deployment", Path: "metadata.annotations.at", Answered: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.call(other, field("x", 0, 1), deploymentField("x", 0, 1))
			w.rounds(20, c.round)
			if len(w.found) != 1 || w.found[0] != c.want {
				t.Errorf("found  %+v\nwant one %+v", w.found, c.want)
			}
		})
	}
}

// What is no loop, however long it lasts.
func TestProgress(t *testing.T) {
	for name, round := range map[string]func(w *world, n uint64){
		"a rollout: another object changes, and the call says so in its own": func(w *world, n uint64) {
			w.others(deployment)
			w.call(events, field("status.time", n, n+1))
		},
		"a rollout with own events": func(w *world, n uint64) {
			w.others(deployment)
			w.call(events, field("status.time", n, n+1))
			w.call(own)
		},
		"a rollout of what the call writes, too": func(w *world, n uint64) {
			w.others(shop)
			w.call(events, ready(n))
		},
		"two writes after each change": func(w *world, n uint64) {
			w.others(deployment)
			w.call(events, field("status.time", n, n+1))
			w.call(own, field("status.time", n, n+1))
			w.call(own)
		},
		"an autoscaler writes what the call reads": func(w *world, n uint64) {
			w.others(shop)
			f := field("status.scaled", n, n+1)
			f.Progress = true
			w.call(events, f)
		},
		"a resync": func(w *world, n uint64) { w.call(other, field("status.time", n, n+1)) },
		"a resync that sets back what others have changed": func(w *world, n uint64) {
			w.others(shop)
			w.call(other, field("spec.replicas", 1, 2))
		},
		"other fields each time": func(w *world, n uint64) {
			w.call(own, field(fmt.Sprint("status.part", n), 0, 1))
		},
		"another object each time": func(w *world, n uint64) {
			f := []Field{field("a", n, n+1), deploymentField("a", n, n+1)}[n%2]
			w.call(own, f)
		},
		"other settings each time, which go to an object whose status moves": func(w *world, n uint64) {
			w.others(deployment)
			w.by = settings
			w.call(events, deploymentField("metadata.annotations.hash", n, n+1))
		},
		"other settings each time, which the call sees before their event": func(w *world, n uint64) {
			w.others(deployment)
			w.call(events, deploymentField("metadata.annotations.hash", n, n+1))
			w.by = settings
			w.call(events)
		},
		"an object whose spec others change, with a hash of it": func(w *world, n uint64) {
			w.others(shop)
			w.news = true
			w.call(events, field("metadata.annotations.hash", n, n+1))
		},
		"another form for each value that others write": func(w *world, n uint64) {
			w.others(shop)
			w.news = true
			w.call(events, field("spec.image", 2*n, 2*n+1))
		},
		"an annotation that follows the status, which moves each two minutes": func(w *world, n uint64) {
			w.now = w.now.Add(2 * time.Minute)
			w.others(shop)
			w.call(events, field("metadata.annotations.load", n, n+1))
		},
		"a cursor, which a call that is no round moves at times": func(w *world, n uint64) {
			w.call(own, ready(2*n))
			if n%5 == 0 {
				w.call(other, ready(2*n+1))
			}
		},
		"a cursor of texts, with a time beside it": func(w *world, n uint64) {
			w.call(own, token(n, n+1), field("status.time", n, n+1))
			if n%500 == 0 {
				w.call(own)
			}
		},
		"a cursor, with a time beside it": func(w *world, n uint64) {
			w.call(own, ready(n), field("status.time", n, n+1))
			if n%500 == 0 {
				w.call(own)
			}
		},
		"once in two hours": func(w *world, n uint64) {
			w.now = w.now.Add(2 * time.Hour)
			w.call(own, field("status.time", n, n+1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.call(other, field("x", 0, 1))
			w.rounds(1000, round)
			if len(w.found) > 0 {
				t.Errorf("found %+v", w.found)
			}
		})
	}
}

// The same loop is reported again after an hour, with the numbers since then. Meanwhile nobody has to compare fields.
func TestOnceAnHour(t *testing.T) {
	w := newWorld(t)
	w.call(other, field("status.time", 0, 1))
	w.rounds(3*3600, func(w *world, n uint64) { w.call(own, field("status.time", n, n+1)) })
	if len(w.found) != 3 || w.asked != 3*window {
		t.Fatalf("%d reports in three hours, after %d looks", len(w.found), w.asked)
	}
	for _, l := range w.found[1:] {
		if l.Reconciles < 3600 || l.Rounds < 3600 || l.Time < pause {
			t.Errorf("report %+v", l)
		}
	}
	all := w.d.Loops(w.now)
	if len(all) != 1 || all[0].Key != "prod/shop" || all[0].Loop != w.found[2] {
		t.Errorf("loops %+v", all)
	}
	if all := w.d.Loops(w.now.Add(pause)); len(all) > 0 {
		t.Errorf("an hour after the last report: %+v", all)
	}
}

// A number that goes one way is progress for long, but not for ever.
func TestSteps(t *testing.T) {
	w := newWorld(t)
	w.call(other, field("x", 0, 1))
	w.rounds(steps, func(w *world, n uint64) {
		f := ready(n)
		f.Step = -1
		w.call(own, f, field("status.time", n, n+1))
	})
	if len(w.found) > 0 {
		t.Errorf("found %+v", w.found)
	}
	w.rounds(3*suspectAfter, func(w *world, n uint64) { w.call(own, ready(n)) })
	if len(w.found) != 1 || w.found[0].Path != "status.ready" {
		t.Errorf("then found %+v", w.found)
	}
}

// A clock that jumps by days neither stops the detector, nor makes it report more often than the clock jumps.
func TestClockJumps(t *testing.T) {
	w := newWorld(t)
	w.call(other, field("status.time", 0, 1))
	w.rounds(100, func(w *world, n uint64) {
		switch n {
		case 10:
			w.now = w.now.Add(1000 * time.Hour)
		case 50:
			w.now = w.now.Add(-2000 * time.Hour)
		}
		w.call(own, field("status.time", n, n+1))
	})
	if len(w.found) != 2 {
		t.Errorf("%d reports", len(w.found))
	}
	for _, l := range w.found {
		if l.Time < 0 || l.Time > time.Minute {
			t.Errorf("report %+v", l)
		}
	}
}

// However many keys loop, a detector knows a bounded number of them, and finds some.
func TestManyKeys(t *testing.T) {
	d := New()
	now := time.Now()
	found := 0
	for n := range uint64(40) {
		for key := range uint64(3 * maxKeys) {
			c := &Call{Key: key, Events: true, Own: true, Now: now}
			c.Writes.Add(Write{key, n + 1, n + 2})
			if d.Suspects(key, now) {
				c.Fields = []Field{field("status.time", n, n+1)}
			}
			if _, is := d.Ended(c); is {
				found++
			}
		}
		now = now.Add(time.Second)
	}
	if len(d.keys) > maxKeys || found == 0 || found > maxKeys {
		t.Errorf("%d keys, %d reports", len(d.keys), found)
	}
}

// A loop that was found is shown for an hour, and not reported again, however many other keys write.
func TestFoundIsKept(t *testing.T) {
	d, now, found := New(), time.Now(), 0
	round := func(key, n uint64) {
		c := &Call{Key: key, Events: true, Own: true, Now: now}
		c.Writes.Add(Write{key, n + 1, n + 2})
		if d.Suspects(key, now) {
			c.Fields = []Field{field("status.time", n, n+1)}
		}
		if _, is := d.Ended(c); is {
			found++
		}
	}
	for key := range uint64(maxKeys) { // all that a detector knows
		for n := range uint64(17) {
			round(key, n)
		}
		for other := range uint64(20) {
			round(maxKeys*(key+1)+other, 0)
		}
	}
	if all := d.Loops(now); len(all) != maxKeys || found != maxKeys {
		t.Errorf("%d loops and %d reports, want %d", len(all), found, maxKeys)
	}
	now = now.Add(pause)
	round(maxKeys, 0)
	if len(d.keys) != maxKeys || d.keys[maxKeys] == nil {
		t.Errorf("an hour later: %d keys, without the new one", len(d.keys))
	}
}

// Calls with many writes, and writes that change many fields, take bounded memory.
func TestManyWrites(t *testing.T) {
	d := New()
	now := time.Now()
	found := 0
	for n := range uint64(20) {
		c := &Call{Key: theKey, Events: true, Own: true, Now: now}
		for object := range uint64(1000) {
			c.Writes.Add(Write{object, n + 1, n + 2})
		}
		c.Fields = []Field{field("a", n, n+1)}
		for i := range 10 * maxFields {
			c.Fields = append(c.Fields, field(fmt.Sprint("f", n, i), n, n+1))
		}
		if l, is := d.Ended(c); is {
			found++
			if l.Path != "a" {
				t.Errorf("found %+v", l)
			}
		}
		if kept := len(d.keys[theKey].fields); kept > maxFields {
			t.Fatalf("%d fields", kept)
		}
	}
	if found != 1 {
		t.Errorf("%d reports", found)
	}
}

// Several writes of an object in a call are one, unless somebody else's comes between.
func TestWritesOfOneObject(t *testing.T) {
	var w Writes
	w.Add(Write{shop, 1, 2})
	w.Add(Write{shop, 2, 3})
	if is := *w.of(shop); is != (Write{shop, 1, 3}) || w.n != 1 {
		t.Errorf("two writes are %v", is)
	}
	w.Add(Write{shop, 4, 5})
	if is := *w.of(shop); is != (Write{shop, 0, 5}) {
		t.Errorf("with another between them, they are %v", is)
	}
}

// A call that is not in a loop costs no allocation.
func TestAllocations(t *testing.T) {
	w := newWorld(t)
	w.call(other, field("x", 0, 1))
	c := &Call{Key: theKey, Events: true, Now: w.now}
	c.Writes.Add(Write{shop, 7, 8})
	for name, call := range map[string]func(){
		"one that writes nothing": func() { w.d.Idle(theKey) },
		"an unknown key":          func() { w.d.Idle(7) },
		"one that writes":         func() { w.d.Ended(c) },
	} {
		if n := testing.AllocsPerRun(100, call); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// BenchmarkCall is what a call costs that writes nothing, and one that writes.
func BenchmarkCall(b *testing.B) {
	d := New()
	c := &Call{Key: 7}
	c.Writes.Add(Write{shop, 1, 2})
	for key := range uint64(maxKeys) {
		d.Ended(&Call{Key: key, Writes: c.Writes})
	}
	b.Run("nothing", func(b *testing.B) {
		for b.Loop() {
			d.Idle(7)
		}
	})
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			d.Ended(c)
		}
	})
}
