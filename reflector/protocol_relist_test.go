package reflector

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// TestSecondRelistWaits ends two watches in relists, one after the other. The second relist
// waits, unless all was well in between.
func TestSecondRelistWaits(t *testing.T) {
	for name, c := range map[string]struct {
		between watchEnd
		want    pause
	}{
		"news":                   {watchEnd{rv: "8", at: noon}, noPause},
		"a watch that held":      {watchEnd{rv: "7", at: noon, steady: true}, noPause},
		"a watch without news":   {watchEnd{rv: "7", at: noon}, pauseBusy},
		"a watch that was short": {watchEnd{rv: "7", at: noon, short: true}, pauseBusy},
	} {
		s := state{phase: watching, rv: "7", learned: learned{versioned: true}}
		s, first := s.watchEnded(watchEnd{rv: "7", at: noon, err: ErrOutOfOrder})
		if first.pause != noPause || !s.relisted {
			t.Fatalf("%s: the first list has pause %v, state %+v", name, first.pause, s)
		}
		s, _ = s.watch("7").watchEnded(c.between)
		_, second := s.watchEnded(watchEnd{rv: s.rv, at: noon, err: ErrOutOfOrder})
		if second.pause != c.want {
			t.Errorf("%s: the second list has pause %v, want %v", name, second.pause, c.want)
		}
	}
}

// A watch that the server ends with a Status counts as failed however long it lasted, and the
// fifth in a row leads to a list.
func TestLongWatchesThatFail(t *testing.T) {
	s := state{phase: watching, rv: "7", learned: learned{versioned: true}}
	for n := range maxWatchFailures {
		next, st := s.watchEnded(watchEnd{rv: "7", at: noon, err: apierrors.NewTimeoutError("etcd", 0)})
		if gaveUp := st.relist == becauseFailing; gaveUp != (n == maxWatchFailures-1) {
			t.Fatalf("watch %d: relist is %v", n+1, st.relist)
		}
		s = next
	}
}
