package faults

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// maxStrikes bounds the record of a long run.
const maxStrikes = 10_000

// Call is a request that a server asks an [Injector] about.
type Call struct {
	Verb     Verb
	Resource schema.GroupResource
	// HTTP says that the answer is sent as bytes.
	HTTP bool
}

// Injector decides which calls of a server faults strike. A fake.Server has one, behind
// Server.Inject, Server.ClearFaults and Server.Struck. The zero value is ready, and is safe for
// concurrent use.
type Injector struct {
	mu      sync.Mutex
	faults  []*armed
	calls   map[callKind]counts // so far
	strikes []Fault             // in their order
}

// armed is a Fault with its counts.
type armed struct {
	Fault
	skip, left int
	dice       *rand.Rand // nil without a Chance
}

type callKind struct {
	verb     Verb
	resource schema.GroupResource
}

// counts are the numbers of calls of one verb and resource.
type counts struct{ all, http int }

// Inject adds faults after the present ones. If one of them is invalid it adds none. Each
// fault separately counts the calls that match it, from now on. If several faults are due for
// one call, the first strikes and the others are used up as well. Error: [ErrFault].
func (in *Injector) Inject(faults ...Fault) error {
	added := make([]*armed, len(faults))
	for i, f := range faults {
		if err := f.check(); err != nil {
			return fmt.Errorf("faults: %w", err)
		}
		added[i] = &armed{Fault: f, skip: f.Skip, left: f.Times}
		if f.Chance > 0 {
			added[i].dice = rand.New(rand.NewPCG(f.Seed, 0))
		}
		if f.Times == 0 && f.Chance == 0 {
			added[i].left = 1
		}
		if f.Times == 0 && f.Chance > 0 {
			added[i].left = -1
		}
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.faults = append(in.faults, added...)
	return nil
}

// Clear removes all faults. It keeps the counts of calls and the record of strikes.
func (in *Injector) Clear() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.faults = nil
}

// Struck returns the strikes so far, as faults without chance that each strike one call, by
// its number among all calls that the injector has seen. Injected into a fresh server before
// its first call, they do the same again. Only the first 10,000 strikes are kept.
func (in *Injector) Struck() []Fault {
	in.mu.Lock()
	defer in.mu.Unlock()
	return slices.Clone(in.strikes)
}

// Strike counts the call and returns the fault that strikes it, or nil.
func (in *Injector) Strike(c Call) *Fault {
	in.mu.Lock()
	defer in.mu.Unlock()
	kind := callKind{c.Verb, c.Resource}
	n := in.calls[kind]
	n.all++
	if c.HTTP {
		n.http++
	}
	if in.calls == nil {
		in.calls = map[callKind]counts{}
	}
	in.calls[kind] = n
	var hit *Fault
	for _, f := range in.faults {
		if f.counts(c) && f.due() && hit == nil {
			hit = &f.Fault
		}
	}
	if hit != nil && len(in.strikes) < maxStrikes {
		in.strikes = append(in.strikes, n.struck(*hit, kind))
	}
	return hit
}

// struck turns f into a fault that strikes the same call again, in a run that makes the same
// calls.
func (n counts) struck(f Fault, kind callKind) Fault {
	f.Verb, f.Resource, f.Times, f.Chance, f.Seed = kind.verb, kind.resource, 0, 0, 0
	f.Skip = n.all - 1
	if f.CutBytes > 0 {
		f.Skip = n.http - 1
	}
	return f
}

// counts reports whether f counts the call.
func (f *armed) counts(c Call) bool {
	return (f.Verb == "" || f.Verb == c.Verb) && (f.Resource.Empty() || f.Resource == c.Resource) &&
		f.strikes(c.Verb) && (f.CutBytes == 0 || c.HTTP)
}

// due counts a call and reports whether f strikes it. It throws the dice for every counted
// call, so that the result does not depend on other faults.
func (f *armed) due() bool {
	unlucky := f.dice != nil && f.dice.Float64() >= f.Chance
	if f.skip > 0 {
		f.skip--
		return false
	}
	if f.left == 0 || unlucky {
		return false
	}
	if f.left > 0 {
		f.left--
	}
	return true
}
