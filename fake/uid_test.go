package fake_test

import (
	"regexp"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake"
)

func TestUIDs(t *testing.T) {
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	s, seen := newServer(t, fake.Options{}), map[types.UID]bool{}
	for range 200 {
		p := newPod("a", "")
		p.GenerateName = "p-"
		uid := must(fake.Create(s, p))(t).UID
		if seen[uid] || !form.MatchString(string(uid)) {
			t.Fatalf("uid %s, seen before: %t", uid, seen[uid])
		}
		seen[uid] = true
	}
}
