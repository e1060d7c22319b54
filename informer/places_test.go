package informer_test

import (
	"slices"
	"testing"

	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// places is an informer of widgets in namespaces that a test adds and removes, with their sources.
type places struct {
	*informer.Informer[key, *widget]
	set     *informer.Namespaces
	sources map[string]reflector.Source[*widget]
}

func newPlaces(t testing.TB, opts informer.Options[*widget]) *places {
	t.Helper()
	if opts.Indexes == nil {
		opts.Indexes = index.Of(byNode)
	}
	p := &places{set: informer.NewNamespaces(), sources: map[string]reflector.Source[*widget]{}}
	source := func(namespace string) (reflector.Source[*widget], error) { return p.sources[namespace], nil }
	p.Informer = must1(informer.NewNamespaced("widgets", p.set, source, store.ObjectKey[*widget], opts))(t)
	return p
}

func (p *places) add(t testing.TB, namespace string, source reflector.Source[*widget]) {
	t.Helper()
	p.sources[namespace] = source
	if err := p.set.Add(namespace); err != nil {
		t.Fatal(err)
	}
}

func (p *places) remove(namespace string) { p.set.Remove(namespace) }

// stored returns the names of the objects in the store.
func (p *places) stored() (all []string) {
	for w := range p.Store().Values() {
		all = append(all, w.Namespace+"/"+w.Name)
	}
	slices.Sort(all)
	return all
}
