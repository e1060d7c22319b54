package fake_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
)

// TestRestore looks at a server that is put back to a backup: at its objects, at the watches
// of before, and at the versions and uids that it gives out again.
func TestRestore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, fake.Options{CollectGarbage: true})
		kept := must(fake.Create(s, newPod("a", "kept")))(t)
		must(fake.Create(s, newPod("a", "back")))(t)
		b, before := s.Backup(), s.ResourceVersion()

		must(fake.Delete[*pod](s, key("a", "back")))(t)
		changed := must(fake.Get[*pod](s, key("a", "kept")))(t)
		changed.Labels = map[string]string{"was": "lost"}
		must(fake.Update(s, changed))(t)
		lost := must(fake.Create(s, newPod("a", "lost")))(t)

		uids := map[string]bool{string(lost.UID): true}
		for range 2 { // a backup serves again
			src := must(fake.NewSource[*pod](s, fake.Selection{}))(t)
			ended := make(chan error, 1)
			go func() { ended <- lastOf(t.Context(), src, s.ResourceVersion()) }()
			synctest.Wait()
			check(t, s.Restore(b))
			if err := <-ended; !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("a watch of before ends with %v", err)
			}
			if got := s.ResourceVersion(); got != before {
				t.Fatalf("resourceVersion %s, want %s", got, before)
			}
			objects, _, err := list(t, s, fake.Selection{}, metav1.ListOptions{})
			check(t, err)
			if want := []string{"back 3", "kept 2"}; !slices.Equal(objects, want) {
				t.Fatalf("objects %q, want %q", objects, want)
			}
			if got := must(fake.Get[*pod](s, key("a", "kept")))(t); got.UID != kept.UID || got.Labels != nil {
				t.Errorf("the object is not as it was: %v", got)
			}
			again := must(fake.Create(s, newPod("a", "lost")))(t)
			if uids[string(again.UID)] {
				t.Error("a uid was given out twice")
			}
			uids[string(again.UID)] = true
			if objects, _, _ = list(t, s, fake.Selection{}, metav1.ListOptions{}); objects[2] != "lost 4" {
				t.Errorf("objects %q", objects)
			}
			past := metav1.ListOptions{ResourceVersion: before, ResourceVersionMatch: metav1.ResourceVersionMatchExact}
			if objects, _, err = list(t, s, fake.Selection{}, past); err != nil || len(objects) != 2 {
				t.Errorf("objects of then: %q, %v", objects, err)
			}
		}
	})
}

// lastOf returns how a watch from a version ends.
func lastOf(ctx context.Context, src reflector.Source[*pod], rv string) (last error) {
	for _, err := range src.Watch(ctx, metav1.ListOptions{ResourceVersion: rv}) {
		last = err
	}
	return last
}

// TestRestoreKeepsOwners lets a restored owner go: what it owns goes with it.
func TestRestoreKeepsOwners(t *testing.T) {
	s := newServer(t, fake.Options{CollectGarbage: true})
	owner := must(fake.Create(s, newPod("a", "owner")))(t)
	owned := newPod("a", "owned")
	owned.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: owner.Name, UID: owner.UID}}
	must(fake.Create(s, owned))(t)
	b := s.Backup()
	for range 2 {
		must(fake.Delete[*pod](s, key("a", "owner")))(t)
		if objects, _, err := list(t, s, fake.Selection{}, metav1.ListOptions{}); err != nil || len(objects) > 0 {
			t.Fatalf("left: %q, %v", objects, err)
		}
		check(t, s.Restore(b))
	}
}

// TestRestoreEmptiesLaterResources has a resource that the backup does not know.
func TestRestoreEmptiesLaterResources(t *testing.T) {
	s := fake.New(fake.Options{})
	b := s.Backup()
	check(t, fake.Register(s, kind.Of[*pod](v1, "pods"), fake.Rules{}))
	must(fake.Create(s, newPod("a", "p")))(t)
	check(t, s.Restore(b))
	if objects, meta, err := list(t, s, fake.Selection{}, metav1.ListOptions{}); err != nil || len(objects) > 0 || meta.ResourceVersion != "1" {
		t.Errorf("left: %q at %s, %v", objects, meta.ResourceVersion, err)
	}
}

func TestRestoreOfAnotherServer(t *testing.T) {
	s, other := newServer(t, fake.Options{}), newServer(t, fake.Options{})
	for _, b := range []*fake.Backup{nil, other.Backup()} {
		if err := s.Restore(b); !errors.Is(err, fake.ErrBackup) {
			t.Errorf("error %v", err)
		}
	}
}
