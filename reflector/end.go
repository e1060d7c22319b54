package reflector

import (
	"errors"
	"time"
)

// watchEnd describes the end of a watch, or of a streaming list.
type watchEnd struct {
	began  time.Time // the watch itself, after the streaming list that it may have begun with
	at     time.Time
	rv     string // newest resourceVersion seen
	short  bool   // it lasted less than a second
	steady bool   // it was accepted, and lasted at least as long as the longest wait
	// ignored: the request was for a streaming list, and the answer shows no sign of one. The
	// server sends other bookmarks (then err says so), endless events, or nothing at all.
	ignored bool
	idle    bool // nothing came for Tuning.IdleTimeout, or for the shorter limit of a replay
	early   bool // it ended before the time that the request named
	overdue bool // the server did not end it in time, so the client did
	heard   bool // something came, even if only an object that could not be used
	useful  bool // something came that could be used
	// unreached: there was no connection to the server.
	unreached bool
	err       error // nil if the server closed it in order
}

// brought reports whether the watch has brought something. Objects that cannot be used are nothing.
func (e watchEnd) brought(moved bool) bool {
	return moved || e.useful && !errors.Is(e.err, errOutOfOrder)
}

// isEmpty reports whether the server ended the watch in order and at once, and sent nothing.
func (e watchEnd) isEmpty() bool { return e.err == nil && e.short && !e.heard }

// endedUnexpectedly reports whether a watch ended in any other way than at the time that its
// request named. Then the server, or its storage, may have been replaced: a server also closes
// watches in order when it shuts down.
func endedUnexpectedly(end watchEnd) bool {
	return end.idle || end.early || end.overdue || end.err != nil
}
