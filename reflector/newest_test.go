package reflector

import (
	"math/rand/v2"
	"strconv"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Versions that do not compare, and empty ones, are there too. Whenever the block is settled, the
// newest version and object are the same as in a comparison one by one.
func TestNewestListedModel(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	for range 300 {
		var found newestListed
		var recently recentlyListed[*metav1.PartialObjectMetadata]
		version, object := "", knownObject{}
		var newestObject *metav1.PartialObjectMetadata
		for range r.IntN(4 * newestBlock) {
			ev := metaEvent(Added+EventType(r.IntN(3)), string(rune('a'+r.IntN(5))), []string{"", "x", strconv.Itoa(r.IntN(200))}[min(r.IntN(20), 2)])
			addListed(&recently, &found, &ev)
			if ev.Type == Deleted && knownFrom(ev.ResourceVersion, ev.Object).key == object.key {
				object, newestObject = knownObject{}, nil
			}
			if version = newest(version, ev.ResourceVersion); version == ev.ResourceVersion && ev.Type != Deleted {
				object, newestObject = knownFrom(ev.ResourceVersion, ev.Object), ev.Object
			}
			if r.IntN(30) > 0 {
				continue
			}
			if settleList(&recently, &found); found.version != version || found.object != object || recently.newest != newestObject {
				t.Fatalf("%s of %q, want %s of %q", found.object.nameOf(), found.version, object.nameOf(), version)
			}
			for i, ev := range recently.block[:newestBlock] {
				if ev.Object != nil {
					t.Fatalf("event %d is kept", i)
				}
			}
		}
	}
}
