package reflector

import (
	"testing"
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
		s := state{phase: phaseWatching, rv: "7", learned: learned{versioned: true}}
		s, first := s.watchEnded(watchEnd{rv: "7", at: noon, err: errOutOfOrder})
		if first.pause != noPause || !s.relisted {
			t.Fatalf("%s: the first list has pause %v, state %+v", name, first.pause, s)
		}
		s, _ = s.watch("7").watchEnded(c.between)
		_, second := s.watchEnded(watchEnd{rv: s.rv, at: noon, err: errOutOfOrder})
		if second.pause != c.want {
			t.Errorf("%s: the second list has pause %v, want %v", name, second.pause, c.want)
		}
	}
}

// A check keeps the version that the watch after it begins with, and asks for the newest one.
func TestVersionOfRequests(t *testing.T) {
	s := state{phase: phaseWatching, rv: "9", listRV: "1", replayRV: "6"}
	if got := s.version(); got != "6" {
		t.Errorf("a watch that has to repeat events begins at %s, want 6", got)
	}
	if s.phase = phaseChecking; s.version() != "9" {
		t.Errorf("a check asks at %s, want 9", s.version())
	}
	if s.phase, s.replayRV = phaseWatching, ""; s.version() != "9" {
		t.Errorf("a watch begins at %s, want 9", s.version())
	}
}

// After a lost connection, a server that refused streaming lists is asked for one again.
func TestListAfterReconnect(t *testing.T) {
	for word, want := range map[string]streamSupport{"eof": streamUnknown, "refused": streamUnknown, "internal": streamUnsupported, "forbidden": streamUnsupported} {
		s, _ := state{phase: phaseListing, learned: learned{stream: streamUnsupported}}.listFailed(failure(word, 0))
		if s.stream != want || (s.phase == phaseStreaming) != (want == streamUnknown) {
			t.Errorf("%s: %s", word, s.text())
		}
	}
}

// An answer that is no watch, and began like one, is followed by LIST.
func TestUnusableStream(t *testing.T) {
	s := state{phase: phaseStreaming, learned: learned{stream: streamSupported}}
	if s, st := s.streamFailed(watchEnd{heard: true, err: failure("unusable", 0)}); s.phase != phaseListing || st.pause != noPause {
		t.Errorf("%s | %s", s.text(), st.text())
	}
}

// A list from a given version shows that the source has versions.
func TestFirstVersionIsAVersion(t *testing.T) {
	for first, want := range map[string]bool{"": false, "0": false, "7": true} {
		if s := initialState(Tuning{FirstVersion: &first}); s.versioned != want || (s.rv != "") != want {
			t.Errorf("%q: %s", first, s.text())
		}
	}
}
