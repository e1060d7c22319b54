// Package picking has what reflectors and sources with a selection that changes, as that of a shard.Part, have to tell
// each other.
package picking

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Selection is how a reflector follows a source whose selection changes. Requests go on to ask for the
// selection of one moment, until Begin. All methods but Due are called by the goroutine of Run. No method
// waits for a request or for the sink.
type Selection interface {
	// Follow begins a Run. After each change, the one who makes it calls changed, which may wait for the
	// sink. less says that something has left. An error says that the Run is about to end. flush is
	// the Flush of the sink. stop ends all that. Only one Run at a time can follow: otherwise Follow returns an
	// error.
	Follow(changed func(less bool) error, flush func(context.Context) error) (stop func(), err error)
	// Begin is called before a list. Requests ask for the newest selection from now on. If that is
	// empty, Begin returns false: the sink gets an empty list, and nothing is requested.
	Begin() bool
	// Listed says that the sink has the list.
	Listed()
	// Dropped says that a watch follows: if the last list failed, requests ask again for the selection
	// of the list before.
	Dropped()
	// Due reports whether the selection has objects that no list has brought.
	Due() bool
}

// Selector says what a source made by reflector.Select selects.
type Selector[T any] interface {
	Selection
	// Request adds to the options of each request. An object that the server sends nevertheless is
	// dropped as it arrives if Asked is false. Asked must be the same for all states of an object.
	Request(*metav1.ListOptions)
	Asked(obj T) (bool, error)
	// CheckList checks the answer to a list.
	CheckList(metav1.ListMeta) error
	// Selects reports whether an object is in the selection as the sink has it. The sink drops others. It
	// is called with a lock of the sink held, by any goroutine.
	Selects(obj T) bool
}

// Changing is an optional interface of a reflector.Source whose selection of objects changes while it is in
// use. reflector.Select makes such a source, and shard.Part is one. It must be the outermost source,
// because reflector.Map, Filter, Shard and Tweak over it make no use of the interface.
//
// When the selection grows, the reflector ends its watch and lists again. The list decodes only the
// objects that the sink lacks. A list in progress is finished first, so that a
// selection which changes faster than the server lists still gets there. If the list fails, the
// watch from before goes on until the next attempt. When the selection only shrinks, the sink drops
// the objects that have left, nothing is requested, and the watch goes on.
//
// One request is for the whole selection: one for each part would save little of such a list.
// Requests ask for the same selection until the next list, because the reflector uses the last
// events to check whether the server was restored: a source that left out objects it had sent
// before would look like a server that lost them. So the sink has a second filter, Selects.
type Changing[T any] interface {
	Selection() Selection
	// Selects reports whether an object is in the selection as the sink has it. The sink drops others. It
	// is called with a lock of the sink held, by any goroutine.
	Selects(obj T) bool
}
