package fake

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// maxStrikes bounds the record of a run that goes on and on.
const maxStrikes = 10_000

// calls counts the calls of one verb and resource; guarded by Server.mu.
type calls struct {
	all, http int
}

type callKind struct {
	verb     Verb
	resource schema.GroupResource
}

// struck says what was hit: a Fault that hits the same call again in a run that makes the
// same calls.
func (c calls) struck(f Fault, kind callKind) Fault {
	f.Verb, f.Resource, f.Times, f.Chance, f.Seed = kind.verb, kind.resource, 0, 0, 0
	f.Skip = c.all - 1
	if f.CutBytes > 0 {
		f.Skip = c.http - 1
	}
	return f
}

// Struck returns what the faults did so far, as faults without chance that each strike
// one call, by its number since the server began: injected into a fresh server before the
// first call, they do the same again. Only the first 10,000 strikes are kept.
func (s *Server) Struck() []Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.strikes)
}

// strike counts the call and returns the fault that hits it, nil for none. bytes says
// that the answer is sent as bytes, by HTTP. What a fault does to the server as a whole
// is done.
func (s *Server) strike(verb Verb, gr schema.GroupResource, bytes bool) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := callKind{verb, gr}
	n := s.calls[kind]
	n.all++
	if bytes {
		n.http++
	}
	s.calls[kind] = n
	var hit *Fault
	for _, f := range s.faults {
		if f.counts(verb, gr, bytes) && f.due() && hit == nil {
			hit = &f.Fault
		}
	}
	if hit == nil {
		return nil
	}
	if len(s.strikes) < maxStrikes {
		s.strikes = append(s.strikes, n.struck(*hit, kind))
	}
	switch {
	case hit.Expire:
		s.forget()
	case hit.JumpRV > 0:
		s.jump(hit.JumpRV)
	case hit.Restart != 0:
		s.restart(hit.Restart)
	}
	return hit
}

// counts reports whether the call is one of those that f counts.
func (f *fault) counts(verb Verb, gr schema.GroupResource, bytes bool) bool {
	return (f.Verb == "" || f.Verb == verb) && (f.Resource.Empty() || f.Resource == gr) &&
		f.strikes(verb) && (f.CutBytes == 0 || bytes)
}

// due counts a call and reports whether f is to strike it. The dice are thrown for every
// call that is counted, so that what happens does not depend on the faults before.
func (f *fault) due() bool {
	lucky := f.dice != nil && f.dice.Float64() >= f.Chance
	if f.skip > 0 {
		f.skip--
		return false
	}
	if f.left == 0 || lucky {
		return false
	}
	if f.left > 0 {
		f.left--
	}
	return true
}

// receive lets a call in: it returns the fault that goes on to change the answer, or the
// error that is the answer. errDropped is a broken connection.
func (s *Server) receive(ctx context.Context, verb Verb, gr schema.GroupResource, bytes bool) (*Fault, error) {
	f := s.strike(verb, gr, bytes)
	switch {
	case f == nil:
		return nil, nil
	case f.Status != nil:
		return nil, f.Status
	case f.Restart != 0:
		return nil, errDropped
	case f.Delay > 0 && f.After == 0:
		timer := time.NewTimer(f.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
			return nil, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return f, nil
}

// cutAfter returns after how many objects of a list f breaks the connection; -1: never.
func (f *Fault) cutAfter() int {
	if f == nil || f.CutEvents == 0 {
		return -1
	}
	return f.CutEvents
}
