package debug_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/kinform/kinform/debug"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/index"
)

// While the function of an index does not return, page and story say so of its informer, and show the others. This is in real
// time, because no time passes in a bubble while a goroutine waits for a lock.
func TestBusyInformer(t *testing.T) {
	p, other := newProgram(t, debug.Options{}), newProgram(t, debug.Options{})
	release, called := make(chan struct{}), make(chan struct{}, 1)
	hangs := index.New("hangs", func(dst []string, s *Secret) []string {
		called <- struct{}{}
		<-release
		return append(dst, s.Name)
	})
	_, err := fake.Create(p.server, newSecret("good"))
	if err := errors.Join(err, p.inf.AddIndexes(hangs), debug.AddInformer(p.page, "others", other.inf, nil)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- p.run(ctx) }()
	<-called
	s := p.state("/state.json")
	if s.Informers[0].State != "busy" || s.Informers[0].Name != "secrets" || s.Informers[1].State != "never started" {
		t.Errorf("got %+v", s.Informers)
	}
	told := p.story("a/good")
	if told.Informers[0].Name != "secrets" || !told.Informers[0].Busy || len(told.Unknown) != 1 || told.Unknown[0] != "others" {
		t.Errorf("got %+v", told)
	}
	p.story("a/other") // while the look before is still held up
	late := debug.New(debug.Options{Events: 8})
	if err := debug.AddInformer(late, "secrets", p.inf, nil); err != nil {
		t.Error(err)
	}
	close(release)
	if err := p.inf.WaitForSync(t.Context()); err != nil {
		t.Fatal(err)
	}
	for p.state("/state.json").Informers[0].State == "busy" { // viewers share a state for a second
		time.Sleep(10 * time.Millisecond)
	}
	if told := p.story("a/good"); told.Informers[0].Busy || !told.Informers[0].Cached {
		t.Errorf("got %+v", told)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
