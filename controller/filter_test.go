package controller_test

import (
	"slices"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/store"
)

type event = informer.Event[key, *gadget]

// changed returns an update of an object to which changes were made.
func changed(changes ...func(*gadget)) event {
	old := newGadget("one", "x")
	old.Generation = 1
	obj := newGadget("one", "x")
	obj.Generation = 1
	for _, change := range changes {
		change(obj)
	}
	return event{Type: informer.Updated, Old: old, Object: obj}
}

func TestFilters(t *testing.T) {
	label := func(g *gadget) { g.Labels = map[string]string{"a": "b"} }
	note := func(g *gadget) { g.Annotations = map[string]string{"a": "b"} }
	spec := func(g *gadget) { g.Generation++ }
	all := map[string]func(event) bool{
		"generation":  controller.GenerationChanged[key, *gadget],
		"labels":      controller.LabelsChanged[key, *gadget],
		"annotations": controller.AnnotationsChanged[key, *gadget],
	}
	same := newGadget("one", "x")
	for what, test := range map[string]struct {
		ev   event
		pass []string // names of filters
	}{
		"nothing":     {changed(), nil},
		"labels":      {changed(label), []string{"labels"}},
		"annotations": {changed(note), []string{"annotations"}},
		"spec":        {changed(spec), []string{"generation"}},
		"all":         {changed(label, note, spec), []string{"annotations", "generation", "labels"}},
		"new default at the same version": {func() event {
			ev := changed()
			ev.Old.ResourceVersion, ev.Object.ResourceVersion = "7", "7"
			return ev
		}(), []string{"generation"}},
		"no generation":   {event{Type: informer.Updated, Old: same, Object: newGadget("one", "x")}, []string{"generation"}},
		"added":           {event{Type: informer.Added, Object: same}, []string{"annotations", "generation", "labels"}},
		"deleted":         {event{Type: informer.Deleted, Object: same, Old: same}, []string{"annotations", "generation", "labels"}},
		"resync":          {event{Type: informer.Updated, Sync: true, Object: same, Old: same}, []string{"annotations", "generation", "labels"}},
		"another of name": {event{Type: informer.Updated, Replaced: true, Object: same, Old: same}, []string{"annotations", "generation", "labels"}},
	} {
		var pass []string
		for name, filter := range all {
			if filter(test.ev) {
				pass = append(pass, name)
			}
		}
		if slices.Sort(pass); !slices.Equal(pass, test.pass) {
			t.Errorf("%s: %q let it pass, want %q", what, pass, test.pass)
		}
	}
}

// Only what all filters let pass reaches the queue, from For and from Watch.
func TestFilteredInputs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, inf := setup(t)
		g := create(t, server, newGadget("one", "x"))
		byKey, runByKey := delayed[key]("")
		owners, runOwners := delayed[string]("")
		notY := func(ev event) bool { return ev.Object.Owner != "y" }
		controller.For(byKey, inf, controller.LabelsChanged)
		controller.Watch(owners, inf, owner, controller.LabelsChanged, notY)
		keys, stopKeys := reconciling(t, runByKey)
		synctest.Wait() // it runs the informer
		owned, stopOwners := reconciling(t, runOwners)
		step := func(what string, wantKeys, wantOwners []string) {
			t.Helper()
			synctest.Wait()
			if got := keys.take(); !slices.Equal(got, wantKeys) {
				t.Errorf("%s: For queued %q, want %q", what, got, wantKeys)
			}
			if got := owned.take(); !slices.Equal(got, wantOwners) {
				t.Errorf("%s: Watch queued %q, want %q", what, got, wantOwners)
			}
		}
		update := func(change func(*gadget)) {
			t.Helper()
			change(g)
			var err error
			if g, err = fake.Update(server, g); err != nil {
				t.Fatal(err)
			}
		}
		step("the initial list", []string{"a/one"}, []string{"x"})
		update(func(g *gadget) { g.Annotations = map[string]string{"a": "b"} })
		step("an annotation", nil, nil)
		update(func(g *gadget) { g.Labels = map[string]string{"a": "b"} })
		step("a label", []string{"a/one"}, []string{"x"})
		update(func(g *gadget) { g.Owner, g.Labels = "y", nil })
		step("a label and an owner that a filter refuses", []string{"a/one"}, nil)
		stopOwners()
		stopKeys()
	})
}

// owners returns a running controller of sites that own gadgets, which it gets from server too.
// newOwner creates one.
func owners(t *testing.T, server *fake.Server, gadgets *informer.Informer[key, *gadget], k *kind.Kind[*site]) (got *calls[key], newOwner func(namespace, name string) *site, stop func()) {
	t.Helper()
	if err := fake.Register(server, k, fake.Rules{}); err != nil {
		t.Fatal(err)
	}
	source, err := fake.NewSource[*site](server, fake.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	inf, err := informer.New(source, store.ObjectKey, informer.Options[*site]{})
	if err != nil {
		t.Fatal(err)
	}
	c, runC := delayed[key]("")
	controller.For(c, inf)
	controller.Owns(c, inf, gadgets)
	got, stop = reconciling(t, runC)
	return got, func(namespace, name string) *site {
		t.Helper()
		o, err := fake.Create(server, &site{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
		if err != nil {
			t.Fatal(err)
		}
		return o
	}, stop
}

// controls returns a reference to o, as its controller if by is true.
func controls(o *site, by bool) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Site", Name: o.Name, UID: o.UID, Controller: &by}
}

// Owners are found by name and UID of the controller reference, and both if it moves.
func TestOwns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, gadgets := setup(t)
		got, newOwner, stop := owners(t, server, gadgets, siteKinds)
		one, two := newOwner("a", "one"), newOwner("a", "two")
		newOwner("b", "one")
		synctest.Wait()
		got.take()
		other := controls(one, true)
		other.UID = "of another object"
		gone := other
		gone.Name = "gone"
		for what, test := range map[string]struct {
			refs []metav1.OwnerReference
			want []string
		}{
			"the controller":         {[]metav1.OwnerReference{controls(two, false), controls(one, true)}, []string{"a/one"}},
			"no controller":          {[]metav1.OwnerReference{controls(one, false)}, nil},
			"nobody":                 {nil, nil},
			"another of the name":    {[]metav1.OwnerReference{other}, nil},
			"one that is not cached": {[]metav1.OwnerReference{gone}, nil},
		} {
			g := newGadget("child", "")
			g.OwnerReferences = test.refs
			g = create(t, server, g)
			synctest.Wait()
			if keys := got.take(); !slices.Equal(keys, test.want) {
				t.Errorf("%s: queued %q, want %q", what, keys, test.want)
			}
			g.OwnerReferences = []metav1.OwnerReference{controls(two, true)}
			if _, err := fake.Update(server, g); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if keys, want := got.take(), append(slices.Clone(test.want), "a/two"); !slices.Equal(keys, want) {
				t.Errorf("%s: a reference that moves queued %q, want %q", what, keys, want)
			}
			if _, err := fake.Delete[*gadget](server, key{Namespace: "a", Name: "child"}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if keys := got.take(); !slices.Equal(keys, []string{"a/two"}) {
				t.Errorf("%s: a deletion queued %q", what, keys)
			}
		}
		stop()
	})
}

func TestOwnerWithoutNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, gadgets := setup(t)
		got, newOwner, stop := owners(t, server, gadgets, siteKinds.Cluster())
		wide := newOwner("", "wide")
		synctest.Wait()
		got.take()
		g := newGadget("child", "")
		g.OwnerReferences = []metav1.OwnerReference{controls(wide, true)}
		create(t, server, g)
		synctest.Wait()
		if keys := got.take(); !slices.Equal(keys, []string{"/wide"}) {
			t.Errorf("queued %q", keys)
		}
		stop()
	})
}
