package informer_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/informer"
)

// TestDeletedTogether deletes objects at one resourceVersion, and ends the watch amid these
// deletions. The cache loses all of them, and handlers get each deletion once.
func TestDeletedTogether(t *testing.T) {
	for cut := range 8 {
		for seed := range uint64(5) {
			t.Run(fmt.Sprintf("cut=%d/%d", cut, seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { deletedTogether(t, cut, rand.New(rand.NewPCG(seed, 1))) })
			})
		}
	}
}

func deletedTogether(t *testing.T, cut int, rng *rand.Rand) {
	server := newServer(t)
	var keys []key
	for i := range 10 {
		keys = append(keys, key{Namespace: "n", Name: fmt.Sprint("w", i)})
		must1(fake.Create(server, newWidget("n", keys[i].Name, "")))(t)
	}
	if cut > 0 {
		// The first watch breaks off amid the deletions, the second after one event more.
		for i, fault := range []faults.Fault{{CutEvents: cut}, {CutEvents: cut + 1}} {
			fault.Verb, fault.Skip = faults.VerbWatch, i
			if err := server.Inject(fault); err != nil {
				t.Fatal(err)
			}
		}
	}
	opts := informer.Options[*widget]{OnError: ignore}
	opts.Reflector.DisableWatchList = true
	inf := newInformer(t, source(t, server), opts)
	var mu sync.Mutex // guards deleted
	deleted := map[key]int{}
	must1(inf.AddHandler(informer.HandlerFunc[key, *widget](func(ev informer.Event[key, *widget]) {
		if ev.Type == informer.Deleted {
			mu.Lock()
			defer mu.Unlock()
			deleted[ev.Key]++
		}
	}), handlerOptions{}))(t)
	stop := run(t, inf)
	defer stop()
	rng.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	gone := keys[:cut+2]
	rv := must1(fake.Expire[*widget](server, gone...))(t)
	time.Sleep(time.Minute)
	compareWidgets(t, server, inf, func(w *widget) (*widget, error) { return w, nil })
	mu.Lock()
	defer mu.Unlock()
	for _, k := range gone {
		if deleted[k] != 1 {
			t.Errorf("%d events for the deletion of %s at %s", deleted[k], k, rv)
		}
	}
	if len(deleted) != len(gone) {
		t.Errorf("deletions of %v, want %v", deleted, gone)
	}
	must1(fake.Create(server, newWidget("n", "later", "")))(t)
	time.Sleep(time.Minute)
	compareWidgets(t, server, inf, func(w *widget) (*widget, error) { return w, nil })
	if struck := len(server.Struck()); struck != min(cut, 1)*2 {
		t.Errorf("%d watches broke off", struck)
	}
	if lists := inf.Stats().Lists; lists != 1 {
		t.Errorf("%d lists: the watch was not resumed before the deletions", lists)
	}
}
