package debug_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/debug"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/index"
)

func (p *program) state(path string) (s debug.State) {
	p.t.Helper()
	if err := json.Unmarshal(get(p.page, path).Body.Bytes(), &s); err != nil {
		p.t.Fatal(err)
	}
	return s
}

// Indexes, estimated bytes, rates and the history of relists.
func TestDetails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProgram(t, debug.Options{})
		byFirst := index.New("first\u202e", func(dst []string, s *Secret) []string { return append(dst, s.Name[:1]) })
		if err := p.inf.AddIndexes(byFirst); err != nil {
			t.Fatal(err)
		}
		defer p.start("aa", "ab", "b")()
		in := p.state("/state.json").Informers[0]
		if want := (debug.Index{Name: `first\u202e`, Values: 2, Entries: 3, Largest: 2}); len(in.Indexes) != 1 || in.Indexes[0] != want {
			t.Errorf("got %+v, want %+v", in.Indexes, want)
		}
		if in.Bytes < 3*200 || in.Bytes > 3*4000 || in.EventRate != nil {
			t.Errorf("%d bytes, rate %v", in.Bytes, in.EventRate)
		}
		for i := range 20 {
			if _, err := fake.Create(p.server, newSecret(fmt.Sprint("c", i))); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(4 * time.Second)
		synctest.Wait()
		s := p.state("/state.json")
		for what, r := range map[string]*float64{"events": s.Informers[0].EventRate, "adds": s.Controllers[0].AddRate, "runs": s.Controllers[0].RunRate} {
			if r == nil || *r < 4.9 || *r > 5.5 {
				t.Errorf("%s: rate %v, want 5 a second", what, r)
			}
		}
		if f := s.Controllers[0].FailRate; f == nil || *f != 0 {
			t.Errorf("failures: rate %v", f)
		}
		p.server.DropWatches()
		if _, err := fake.Create(p.server, newSecret("unseen")); err != nil { // before the watch is resumed
			t.Fatal(err)
		}
		if err := p.server.Compact(p.server.ResourceVersion()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		in = p.state("/state.json").Informers[0]
		if len(in.LastRelists) != 1 || in.Relists["expired"] != 1 || in.LastRelists[0].Reason != "expired" || in.LastRelists[0].Age < 50 || in.LastRelists[0].Age > 61 {
			t.Errorf("got %+v and %v, want one", in.LastRelists, in.Relists)
		}
	})
}

// A name selects a part of each answer.
func TestByName(t *testing.T) {
	p := newProgram(t, debug.Options{})
	if s := p.state("/state.json?name=sync"); len(s.Controllers) != 1 || len(s.Informers) != 0 {
		t.Errorf("got %+v", s)
	}
	if s := p.state("/state.json"); len(s.Informers) != 1 {
		t.Errorf("the shared state has lost its informers: %+v", s)
	}
}
