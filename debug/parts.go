package debug

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/keytext"
	"github.com/kinform/kinform/internal/mistake"
	"github.com/kinform/kinform/queue"
)

// views are the parts that a page shows.
type views struct {
	informers   []*informed
	queues      []*queued
	controllers []*queued
	replicas    []*replica
}

// addSource adds something whose parts come and go.
func (p *Page) addSource(parts func() []manager.Part) {
	p.mu.Lock()
	p.sources = append(p.sources, parts)
	p.mu.Unlock()
	p.views() // which begins to keep events and reconciles
}

// views returns the parts that exist at present.
func (p *Page) views() views {
	all, fresh := p.find()
	awaitTraces(fresh...)
	return all
}

// find returns the parts that exist at present, and the informers among them that are new to the page.
func (p *Page) find() (all views, fresh []*informed) {
	p.mu.Lock()
	sources := p.sources
	p.mu.Unlock()
	var parts []ledPart
	for _, source := range sources {
		all := source()
		lead := leadOf(all)
		for _, part := range all {
			parts = append(parts, ledPart{part, lead})
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	all = views{slices.Clone(p.added.informers), slices.Clone(p.added.queues), slices.Clone(p.added.controllers), slices.Clone(p.added.replicas)}
	there := map[any]bool{}
	for _, part := range parts {
		if mistake.IsNil(part.Value) || !reflect.TypeOf(part.Value).Comparable() || there[part.Value] {
			continue
		}
		there[part.Value] = true
		v := p.found[part.Value]
		if v == nil {
			v = p.view(part)
			p.found[part.Value] = v
			if v, ok := v.(*informed); ok {
				fresh = append(fresh, v)
			}
		}
		switch v := v.(type) {
		case *informed:
			all.informers = append(all.informers, v)
		case *replica:
			all.replicas = append(all.replicas, v)
		case *queued:
			if v.calls != nil {
				all.controllers = append(all.controllers, v)
			} else {
				all.queues = append(all.queues, v)
			}
		}
	}
	for value, v := range p.found {
		if !there[value] {
			delete(p.found, value)
			if v, ok := v.(*informed); ok { // others do not go
				delete(p.names, v.taken)
			}
		}
	}
	return all, fresh
}

// ledPart is a part of a manager with the Elector there.
type ledPart struct {
	manager.Part
	lead candidate // nil if there is none, or it knows less
}

// candidate is an Elector that knows who leads: a *leader.Elector.
type candidate interface {
	Identity() string
	Leads() bool
	Leader() string
}

// leadOf returns the Elector among the parts of a manager.
func leadOf(parts []manager.Part) candidate {
	for _, part := range parts {
		if lead, ok := part.Value.(candidate); ok && !mistake.IsNil(lead) {
			return lead
		}
	}
	return nil
}

// view returns the view of a part, struct{} for one that is not shown. Called with mu held.
func (p *Page) view(part ledPart) any {
	switch v := part.Value.(type) {
	case manager.Controller:
		shown := p.controller(p.free("controller", part.Name), v)
		shown.lead = part.lead
		return shown
	case queue.Untyped:
		return &queued{name: printable(p.free("queue", part.Name)), queue: v, lead: part.lead}
	case interface{ Untyped() informer.Untyped }:
		name := p.free("informer", part.Name)
		shown := p.informer(name, v.Untyped(), v)
		shown.taken = "informer " + name
		if asked, ok := v.(interface {
			ServerVersion(ctx context.Context, key string) (string, error)
		}); ok {
			shown.ask = asked.ServerVersion
		}
		return shown
	case Replica:
		return &replica{printable(p.free("replica", part.Name)), v}
	}
	return struct{}{}
}

// free takes a name.
func (p *Page) free(sort, name string) string {
	if name == "" {
		name = "unnamed"
	}
	free := name
	for n := 2; p.names[sort+" "+free]; n++ {
		free = fmt.Sprint(name, " ", n)
	}
	p.names[sort+" "+free] = true
	return free
}

// keyText returns the text of a key. Keys that differ have texts that differ, if their String
// methods do.
func keyText(key any) string { return printable(keytext.Of(key)) }

// matches returns a function that reports whether text is the text of a key.
func matches(text string) func(key any) bool {
	asString, asName := keytext.Matches[string](text), keytext.Matches[types.NamespacedName](text)
	return func(key any) bool {
		switch key := key.(type) {
		case string:
			return asString(key)
		case types.NamespacedName:
			return asName(key)
		}
		return keyText(key) == text
	}
}

// printable returns s with its unprintable characters escaped.
func printable(s string) string { return keytext.Printable(s) }
