package reflector

import "time"

// A change of a CustomResourceDefinition gives objects other contents at the versions that they have,
// and ends all watches of the resource early and in order. So does a restart of the server, after
// which nothing has changed as a rule: thousands of clients should not list then. The connection
// tells the two apart. It goes on only if the server does. So the reflector asks for a list on the
// connection that the watch had. If the request gets another one, it is given up and the watch goes
// on. By HTTP/2, the server does not get the request then.

// Watches that end early may lead to resumeBurst such lists at once, and to one in renewEvery after
// that: a proxy may end each watch after a minute.
const renewEvery = 10 * time.Minute

// mayRenew reports whether a list follows the watch w because contents may be new at old versions. If
// such a list was not possible, a later watch shows by its connection whether the server has gone on.
func (r *core) mayRenew(w *watchRequest, end watchEnd) bool {
	conn := w.attempt.progress().conn
	switch {
	case end.err == nil && end.early && !end.idle && !w.silent:
		r.renewal = conn
	case conn != r.renewal:
		r.renewal = nil // a restart
	}
	return r.renewal != nil && !r.state.listsLater() && r.waits.renewal.has(time.Now(), renewEvery)
}

// renew lists in place of a watch that would go on. The list comes from the storage, and the sink
// compares contents: behind a proxy, the connection says nothing about the server's history.
func (s state) renew() state {
	next := s.pages("")
	next.renews, next.rewound = true, perhapsRewound
	return next
}
