package informer_test

import (
	"testing"

	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/reflector"
)

// A write is pending from its answer until the watch brings it.
func TestPendingWrites(t *testing.T) {
	var heard errorsOf
	withLive(t, &heard, func(src *live[*widget], inf *informer.Informer[key, *widget]) {
		expect := func(n int, want string) {
			t.Helper()
			rv, ok := inf.PendingWrite(key{Namespace: "a", Name: "w"})
			if inf.Stats().Writes != n || rv != want || ok != (want != "") {
				t.Errorf("%d pending, w at %q, %v; want %d, %q", inf.Stats().Writes, rv, ok, n, want)
			}
		}
		expect(0, "")
		for _, obj := range []*widget{at("w", 20), at("new", 21)} {
			if err := inf.RecordWrite(obj, ""); err != nil {
				t.Fatal(err)
			}
		}
		expect(2, "20")
		src.send(reflector.Modified, 20, at("w", 20))
		expect(1, "")
		if !inf.Started() {
			t.Error("Started is false while it runs")
		}
	})
	if informer, _ := informer.New(&live[*widget]{}, func(*widget) (key, error) { return key{}, nil }, informer.Options[*widget]{}); informer.Started() {
		t.Error("Started is true before Run")
	}
}
