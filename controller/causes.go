package controller

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/fieldpaths"
	"github.com/kinform/kinform/internal/keytext"
	"github.com/kinform/kinform/internal/note"
	"github.com/kinform/kinform/internal/objmeta"
)

// CausesOf returns why the reconcile with this context runs. A key that is added several times before it is reconciled is
// reconciled once, and each add is a cause. What comes while the key is reconciled is a cause of its next reconcile. If a
// reconcile fails, is cut short or cannot begin, its causes are also causes of the next one, after "retry" and the like.
// With another context there are none.
//
//	for _, cause := range controller.CausesOf(ctx).Newest {
//		log.Print(cause) // deployments.apps prod/shop updated 41 → 57, by this process
//	}
//
// Each watch ([For] and its like) keeps its newest 128 events that queued a key, and the objects of the newest 32. An
// event costs some 0.05 µs more for that, with an uncontended lock and no allocation. An event of a key that runs right
// now allocates, since it is held until the call returns, up to 64 for each key. Up to 32 old objects per watch stay in
// memory. Of an event that is not kept any more, the type and the flags are known.
func CausesOf(ctx context.Context) Causes {
	if call := callOf(ctx); call != nil {
		return call.causes()
	}
	return Causes{}
}

// Causes are why a key was queued. The zero value has none.
type Causes struct {
	Newest []Cause // three at most, the newest first
	Adds   int     // the number of all
}

// Reason returns the newest cause that does not only say that the reconcile before came to nothing, as "retry", "cut
// short" and "put off" do, or the newest cause if all do. It returns the zero value if there are none.
func (c Causes) Reason() Cause {
	if len(c.Newest) == 0 {
		return Cause{}
	}
	return c.Newest[max(0, slices.IndexFunc(c.Newest, func(one Cause) bool { return !one.note.Repeats() }))]
}

// Cause is why a key was queued: see [CausesOf].
type Cause struct {
	// Why is "added by hand", "delay ended" (queue.Queue.AddAfter), "retry", "asked for again" ([Again]), "cut short" if the
	// end of Run or of a term ended the call before, "put off" if the namespace was not listed yet, or "name freed" (see
	// [Owns]). For an event it is "added", "updated", "deleted", "found" by the first list, "unchanged" in a resync, or
	// "replaced" by another object (see informer.Event). The other fields are about the event.
	Why string
	// Own says that this process made the change, or the last one if the event has several, by a write
	// through the handle that is watched. That is known once the write is answered, and never of deletions. If
	// the event is not kept any more, Own is about the writes of reconciles.
	Own bool
	// Resource is the resource of the object, such as "jobs.batch". It is empty after [Unwatch].
	Resource string
	// Key is the key of the object as logs have it. It is empty if the event is not kept any more, except with [For].
	Key string
	// Old and Version are the resourceVersions of the object before and after the event, empty if it is not kept.
	Old, Version string

	events keptEvents // nil for none
	note   note.Note
}

// Changed returns the paths of the fields that an update changed, such as spec.replicas and
// status.conditions[Ready].lastTransitionTime. It returns nil for other causes, and if the objects are not kept any more.
// There are 32 at most, and then "…" for the rest. Paths have no values but the name, type or port of an element of a
// list. Both objects are encoded as JSON for that: call it when somebody looks.
func (c Cause) Changed() []string {
	if c.events == nil || typeOf(c.note) != informer.Updated || c.note&isSync != 0 {
		return nil
	}
	_, old, now := c.events.find(c.note)
	if old == nil {
		return nil
	}
	return fieldpaths.Changed(old, now)
}

// String returns the cause in words, such as "jobs.batch prod/x updated 41 → 57, by this process". It can have every
// character that the key of the object has.
func (c Cause) String() string {
	if c.note&note.Event == 0 {
		return c.Why
	}
	words := []string{cmp.Or(c.Resource, "an object that is not watched any more"), c.Key, c.Why, c.Version}
	if c.Old != "" {
		words = slices.Insert(words, 3, c.Old, "→")
	}
	text := strings.Join(slices.DeleteFunc(words, func(word string) bool { return word == "" }), " ")
	if c.Own {
		text += ", by this process"
	}
	return text
}

// whyOf returns Cause.Why of a note.
func whyOf(is note.Note) string {
	switch is {
	case note.Delayed:
		return "delay ended"
	case note.Retry:
		return "retry"
	case note.Again:
		return "asked for again"
	case note.CutShort:
		return "cut short"
	case note.PutOff:
		return "put off"
	case note.Freed:
		return "name freed"
	}
	switch {
	case is&note.Event == 0:
		return "added by hand"
	case is&isSync != 0:
		return "unchanged"
	case is&isInitial != 0:
		return "found"
	case is&isReplaced != 0:
		return "replaced"
	}
	return strings.ToLower(typeOf(is).String())
}

// causesOf returns the causes of a hand-out of key.
func causesOf[Q comparable](c *Controller[Q], key Q, notes *note.Notes) Causes {
	if notes.Adds() == 0 {
		return Causes{}
	}
	return inWords(c.present(), key, notes)
}

// present returns the inputs of this moment.
func (c *Controller[Q]) present() []input {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.inputs // which is only appended to, or made anew
}

// inWords is causesOf for a key of any type.
func inWords(inputs []input, key any, notes *note.Notes) Causes {
	causes := Causes{Adds: notes.Adds()}
	for _, is := range notes.Newest() {
		causes.Newest = append(causes.Newest, causeOf(inputs, key, is))
	}
	return causes
}

// causeOf returns the cause of a note about key.
func causeOf(inputs []input, key any, is note.Note) Cause {
	c := Cause{Why: whyOf(is), note: is}
	if is&note.Event == 0 {
		return c
	}
	c.Own = is&isOwn != 0
	n := slices.IndexFunc(inputs, func(in input) bool { return (uint64(is)>>inputAt^in.number)&maxInput == 0 })
	if n < 0 {
		return c
	}
	in := inputs[n]
	c.Resource, _ = keytext.Resource(in.inf.Resource())
	var old, now any
	c.events = in.events
	c.Key, old, now = in.events.find(is)
	c.Version = objmeta.VersionOf(now)
	if typeOf(is) == informer.Updated && is&isSync == 0 {
		c.Old = objmeta.VersionOf(old)
	}
	if c.Key == "" && in.call == "For" {
		c.Key = keytext.Of(key) // of the object
	}
	if name, ok := keytext.Parse(c.Key); ok && in.handle != nil && typeOf(is) != informer.Deleted && is&isSync == 0 && c.Version != "" {
		c.Own = c.Own || in.handle.writes().wrote(name, c.Version)
	}
	return c
}
