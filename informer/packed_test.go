package informer_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/reflector"
)

// TestPackedRepeats: the watch repeats a write of this process. Its object has an empty map, which packing leaves out.
func TestPackedRepeats(t *testing.T) {
	for _, packed := range []bool{false, true} {
		t.Run(fmt.Sprint(packed), func(t *testing.T) {
			opts := informer.Options[*widget]{Packed: packed, OnError: func(err error) { t.Errorf("OnError: %v", err) }}
			withByHand(t, opts, func(src *byHand[*widget], inf *informer.Informer[key, *widget]) {
				events := heard(t, inf)
				state := func(version int) *widget {
					w := at("w", version)
					w.Labels = map[string]string{}
					return w
				}
				for version := 20; version < 40; version++ {
					must(t, inf.RecordWrite(state(version), ""))
					src.send(reflector.Modified, version, state(version))
				}
				synctest.Wait()
				if n := strings.Count(events(), "U "); n != 20 {
					t.Errorf("%d events for 20 writes", n)
				}
			})
		})
	}
}
