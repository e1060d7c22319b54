package fake_test

import (
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
)

// TestExpire deletes several objects at one resourceVersion.
func TestExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, fake.Options{})
		for _, name := range []string{"p", "q", "r", "stays"} {
			p := newPod("a", name)
			p.Finalizers = []string{"example.com/f"}
			must(fake.Create(s, p))(t)
		}
		open := record(t, s, fake.Selection{}, metav1.ListOptions{ResourceVersion: "5"})
		one := record(t, s, fake.Selection{}, metav1.ListOptions{ResourceVersion: "5", FieldSelector: "metadata.name=q"})
		if rv := must(fake.Expire[*pod](s, key("a", "q"), key("a", "r"), key("a", "p")))(t); rv != "6" || s.ResourceVersion() != "6" {
			t.Errorf("resourceVersion %s, of the server %s", rv, s.ResourceVersion())
		}
		must(fake.Create(s, newPod("a", "p")))(t)
		all := []string{"DELETED 6 a/q node=", "DELETED 6 a/r node=", "DELETED 6 a/p node=", "ADDED 7 a/p node="}
		open.want(t, all...)
		one.want(t, all[0])
		record(t, s, fake.Selection{}, metav1.ListOptions{ResourceVersion: "5"}).want(t, all...)
		record(t, s, fake.Selection{}, metav1.ListOptions{ResourceVersion: "6"}).want(t, all[3])
		for rv, want := range map[string]int{"5": 4, "6": 1} {
			names, _, err := list(t, s, fake.Selection{}, metav1.ListOptions{ResourceVersion: rv, ResourceVersionMatch: metav1.ResourceVersionMatchExact})
			if check(t, err); len(names) != want {
				t.Errorf("at %s: %v, want %d", rv, names, want)
			}
		}
	})
}

// TestExpireCut: a watch that breaks off amid the deletions and goes on at their resourceVersion
// misses the rest, as with a real API server.
func TestExpireCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, fake.Options{})
		for _, name := range []string{"p", "q", "r"} {
			must(fake.Create(s, newPod("a", name)))(t)
		}
		check(t, s.Inject(faults.Fault{Verb: faults.VerbWatch, CutEvents: 2}))
		cut := record(t, s, fake.Selection{}, metav1.ListOptions{ResourceVersion: "4"})
		must(fake.Expire[*pod](s, key("a", "p"), key("a", "q"), key("a", "r")))(t)
		cut.want(t, "DELETED 5 a/p node=", "DELETED 5 a/q node=")
		if ended, err := cut.end(); !ended || err == nil {
			t.Errorf("the watch ended: %t, %v", ended, err)
		}
		record(t, s, fake.Selection{}, metav1.ListOptions{ResourceVersion: "5"}).want(t)
	})
}

// TestExpireRefuses: Expire deletes all or nothing, and nothing at all is no write.
func TestExpireRefuses(t *testing.T) {
	s := newServer(t, fake.Options{CollectGarbage: true})
	owner := must(fake.Create(s, newPod("a", "p")))(t)
	owned := newPod("a", "owned")
	owned.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "p", UID: owner.UID}}
	must(fake.Create(s, owned))(t)
	wantStatus(t, second(fake.Expire[*pod](s, key("a", "p"), key("a", "none"))), 404, metav1.StatusReasonNotFound)
	wantStatus(t, second(fake.Expire[*pod](s, key("a", "p"), key("a", "p"))), 404, metav1.StatusReasonNotFound)
	if rv := must(fake.Expire[*pod](s))(t); rv != "3" || s.ResourceVersion() != "3" {
		t.Errorf("resourceVersion %s, of the server %s", rv, s.ResourceVersion())
	}
	must(fake.Expire[*pod](s, key("a", "p")))(t)
	wantStatus(t, second(fake.Get[*pod](s, key("a", "owned"))), 404, metav1.StatusReasonNotFound)
}
