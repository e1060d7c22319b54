package informer_test

import (
	"errors"
	"testing"
	"time"

	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/reflector"
)

// What was put aside for a write is forgotten with the write, also if its event could not be used.
func TestUnusableForgetsAside(t *testing.T) {
	withByHand(t, informer.Options[*widget]{}, func(src *byHand[*widget], inf *informer.Informer[key, *widget]) {
		events := heard(t, inf)
		must(t, inf.RecordWrite(at("w", 20), ""))
		src.events <- byHandEvent[*widget]{err: &reflector.ObjectError{Resource: "things", Key: "a/w", ResourceVersion: "20", Type: reflector.Modified, Err: errors.New("bad")}}
		src.bookmark(30)
		src.send(reflector.Deleted, 40, at("w", 40))
		w := at("w", 50)
		w.UID = "another"
		must(t, inf.RecordWrite(w, "")) // not in the selection
		src.bookmark(60)
		if got := version(inf, "w"); got != "" {
			t.Errorf("w is back at %s, which was deleted at 40 (%s)", got, events())
		}
	})
}

// A deletion that the server has lost, of which the watch could not notice, hides the object for a while
// only.
func TestGoneOfAnotherHistory(t *testing.T) {
	withByHand(t, informer.Options[*widget]{}, func(src *byHand[*widget], inf *informer.Informer[key, *widget]) {
		events := heard(t, inf)
		must(t, inf.RecordGone(key{Namespace: "a", Name: "w"}, "uid", "20"))
		src.send(reflector.Modified, 22, at("w", 22))
		src.bookmark(1000)
		time.Sleep(time.Hour)
		src.send(reflector.Modified, 1010, at("w", 1010))
		src.set(listOf("2000", at("w", 1010)))
		src.fail(errGone)
		time.Sleep(time.Hour)
		if got := version(inf, "w"); got != "1010" {
			t.Errorf("w is at %q two hours later, want 1010 (%s; %s)", got, events(), dump(inf))
		}
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
