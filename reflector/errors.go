package reflector

import (
	"errors"

	"github.com/kinform/kinform/internal/mistake"
	"github.com/kinform/kinform/internal/usercode"
)

var (
	// ErrListStopped is returned by [Source.List] when its yield function returned false.
	ErrListStopped = errors.New("list stopped by its caller")

	// ErrInvalid is matched by the errors of mistakes in the program: a nil source or sink, a source of a shard.Part
	// with a sink that cannot follow it, a second Run, a shard that no server has. The text says which. It is the value of
	// package controller.
	ErrInvalid = mistake.Err

	// ErrProtocol is matched by the errors of answers that break the rules of lists and watches: an event or a list that
	// is older than what was seen, a page that does not continue its list, a list without a version, a streaming list
	// without an end, a deletion whose object cannot be read, a list of another shard. The text says which. The reflector
	// discards the answer, or lists again.
	ErrProtocol = mistake.ErrProtocol

	// ErrRestored means that the server was restored from a backup: its history differs from
	// the one seen, or ends before it. The reflector lists the collection again, and the list
	// is not compared by versions alone with the contents of the sink. The error that wraps it
	// says what differs.
	ErrRestored = errors.New("the server went back in time: it was restored from a backup")

	// ErrNoName is the cause of an ObjectError for an object without metadata.name. No sink
	// holds such an object. The value is the same in all packages that export it.
	ErrNoName = usercode.ErrNoName

	// ErrUnusable matches the error of a source whose server answers with something other than
	// the collection, such as the login page of a proxy. See [RequestError.Lasting].
	ErrUnusable = errors.New("the answer is not a list or watch")

	// errUnanswered ends a request without an answer while the server is known to be away, so
	// that the next one can try another connection.
	errUnanswered = errors.New("the server is away and does not answer")

	// errNotReturning reports a List or Watch of a source that goes on 30 seconds, or somewhat
	// longer, after its context was done. The reflector sends no other request until it
	// returns, because it uses the source from one goroutine at a time.
	errNotReturning = errors.New("the source does not return although its context is done")

	// ErrShortWatch reports a watch that ended within a second and whose version did not move.
	ErrShortWatch = errors.New("watch ended within a second and brought nothing")
)

// The mistakes, which match ErrInvalid.
var (
	errNoSink  error = mistake.Text("reflector: sink is nil")
	errStarted error = mistake.Text("reflector: Run was called before")
)

// The broken rules, which match ErrProtocol.
var (
	// errOutOfOrder ends a watch in which an older event follows a newer one.
	errOutOfOrder error = mistake.Broken("watch event is older than one before it")

	// errUnreadableDelete ends a watch with a deletion whose object could not be read. A list
	// then shows which object is gone.
	errUnreadableDelete error = mistake.Broken("object of a deletion could not be read")

	// errListTooOld discards a list that is older than the newest version seen. A server that
	// reads from a lagging cache sends such lists (kubernetes#59848).
	errListTooOld error = mistake.Broken("list is older than what was already seen")

	// errBadPage discards a list with a page that does not continue it: a page without a
	// resourceVersion, with one older than the first page's, with a token that came before, or
	// after a thousand pages in a row without an object.
	errBadPage = mistake.BadPage

	// errNoResourceVersion discards a list without a version from a source that had versions before,
	// and one that has pages. A source that never has versions is listed again whenever its watch
	// ends, or after Tuning.PollInterval.
	errNoResourceVersion error = mistake.Broken("list has no resourceVersion: not a Kubernetes list")

	// errNoInitialEventsEnd ends a streaming list without a bookmark at its end. Either the
	// server closed it too early, or the server does not know streaming lists and answered
	// with a plain watch.
	errNoInitialEventsEnd error = mistake.Broken("streaming list without a bookmark at its end")
)
