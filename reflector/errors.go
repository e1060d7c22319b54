package reflector

import (
	"errors"

	"github.com/kinform/kinform/internal/usercode"
)

var (
	// ErrListStopped is returned by [Source.List] when its yield function returned false.
	ErrListStopped = errors.New("list stopped by its caller")

	// ErrNoSource and ErrNoSink are returned by [New] for a nil argument. [Map], [Filter] and
	// [Tweak] return a nil source if they are given nil.
	ErrNoSource = errors.New("reflector: source is nil: look at the call that made it")
	ErrNoSink   = errors.New("reflector: sink is nil")

	// ErrNoPruner is returned by [New] for a [Changing] source and a sink that is no [Pruner].
	ErrNoPruner = errors.New("the selection of the source changes, and the sink cannot follow it")

	// ErrStarted is returned by a second call of [Reflector.Run].
	ErrStarted = errors.New("reflector: Run was called before")

	// ErrOutOfOrder ends a watch in which an older event follows a newer one.
	ErrOutOfOrder = errors.New("watch event is older than one before it")

	// ErrRestored means that the server was restored from a backup: its history differs from
	// the one seen, or ends before it. The reflector lists the collection again, and the list
	// is not compared by versions alone with the contents of the sink. The error that wraps it
	// says what differs.
	ErrRestored = errors.New("the server went back in time: it was restored from a backup")

	// ErrNoName is the cause of an ObjectError for an object without metadata.name. No sink
	// holds such an object. The value is the same in all packages that export it.
	ErrNoName = usercode.ErrNoName

	// ErrUnreadableDelete ends a watch with a deletion whose object could not be read. A list
	// then shows which object is gone.
	ErrUnreadableDelete = errors.New("object of a deletion could not be read")

	// ErrListTooOld discards a list that is older than the newest version seen. A server that
	// reads from a lagging cache sends such lists (kubernetes#59848).
	ErrListTooOld = errors.New("list is older than what was already seen")

	// ErrBadPage discards a list with a page that does not continue it: a page without a
	// resourceVersion, with one older than the first page's, with a token that came before, or
	// after a thousand pages in a row without an object.
	ErrBadPage = errors.New("page does not continue the list")

	// ErrNoResourceVersion discards a list without a version from a source that had versions before,
	// and one that has pages. A source that never has versions is listed again whenever its watch
	// ends, or after Tuning.PollInterval.
	ErrNoResourceVersion = errors.New("list has no resourceVersion: not a Kubernetes list")

	// ErrNoInitialEventsEnd ends a streaming list without a bookmark at its end. Either the
	// server closed it too early, or the server does not know streaming lists and answered
	// with a plain watch.
	ErrNoInitialEventsEnd = errors.New("streaming list without a bookmark at its end")

	// ErrUnusable matches the error of a source whose server answers with something other than
	// the collection, such as the login page of a proxy. See [RequestError.Lasting].
	ErrUnusable = errors.New("the answer is not a list or watch")

	// ErrUnanswered ends a request without an answer while the server is known to be away, so
	// that the next one can try another connection.
	ErrUnanswered = errors.New("the server is away and does not answer")

	// ErrNotReturning reports a List or Watch of a source that goes on 30 seconds, or somewhat
	// longer, after its context was done. The reflector sends no other request until it
	// returns, because it uses the source from one goroutine at a time.
	ErrNotReturning = errors.New("the source does not return although its context is done")

	// ErrShortWatch reports a watch that ended within a second and whose version did not move.
	ErrShortWatch = errors.New("watch ended within a second and brought nothing")
)
