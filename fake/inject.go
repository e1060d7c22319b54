package fake

import (
	"context"

	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/internal/pause"
)

// Inject adds faults after the present ones. If one of them is invalid it adds none. Each
// fault separately counts the calls that match it, from now on. If several faults are due for
// one call, the first strikes and the others are used up as well. Error: [faults.ErrFault].
func (s *Server) Inject(add ...faults.Fault) error { return s.faults.Inject(add...) }

// ClearFaults removes all faults. Watches that a fault has already struck stay struck.
func (s *Server) ClearFaults() { s.faults.Clear() }

// Struck returns the strikes so far, as faults without chance that each strike one call, by
// its number since the server began: injected into a fresh server before its first call, they
// do the same again. Only the first 10,000 strikes are kept.
func (s *Server) Struck() []faults.Fault { return s.faults.Struck() }

// receive lets a call in. It returns the fault that goes on to change the answer, or the error
// that is the answer; errDropped is a broken connection. http says that the answer is sent as
// bytes.
func (s *Server) receive(ctx context.Context, r Request, http bool) (*faults.Fault, error) {
	s.requests.add(r)
	f := s.faults.Strike(faults.Call{Verb: r.Verb, Resource: r.Resource, HTTP: http})
	switch {
	case f == nil:
		return nil, nil
	case f.Status != nil:
		return nil, f.Status
	case f.Restart != 0:
		s.Restart(f.Restart)
		return nil, errDropped
	case f.Expire:
		s.expire()
	case f.JumpRV > 0:
		s.JumpResourceVersion(f.JumpRV)
	case f.Delay > 0 && f.After == 0:
		if pause.For(ctx, f.Delay) != nil {
			return nil, context.Cause(ctx)
		}
		return nil, nil
	}
	return f, nil
}

// cutAfter returns the number of objects after which f breaks the connection of a list; -1
// means never.
func cutAfter(f *faults.Fault) int {
	if f == nil || f.CutEvents == 0 {
		return -1
	}
	return f.CutEvents
}
