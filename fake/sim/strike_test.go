package sim_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/sim"
	"github.com/kinform/kinform/fake/sim/internal/planted"
	"github.com/kinform/kinform/reflector"
)

// making returns a program that makes a Config twice. It calls note with the second error, which is that of a refusal.
func making(note func(error)) func() sim.Program {
	return func() sim.Program {
		p := planted.Tickets()
		p.Keeps = []string{"configs.example.com"}
		p.Users = func(*sim.World) error { return nil }
		p.Run = func(ctx context.Context, to client.Connection) error {
			configs, err := client.New(to, planted.Configs, client.Options{})
			if err != nil {
				return err
			}
			for range 2 {
				_, err = configs.Create(ctx, fake.Object(&planted.Config{}, "prod", "a"), metav1.CreateOptions{})
			}
			note(err)
			return idle(ctx, to)
		}
		return p
	}
}

// A program that only reads is explored, too. This one lists after its watch has broken, and keeps what is gone.
func TestExploresReaders(t *testing.T) {
	key := types.NamespacedName{Namespace: "prod", Name: "a"}
	found := sim.Search(t, func() sim.Program {
		p, seen := planted.Tickets(), map[string]bool{}
		p.Run = func(ctx context.Context, to client.Connection) error {
			clear(seen)
			configs, err := client.New(to, planted.Configs, client.Options{})
			for err == nil && ctx.Err() == nil {
				list, _ := configs.List(ctx, metav1.ListOptions{}, func(e reflector.Event[*planted.Config], err error) bool {
					if err == nil {
						seen[e.Object.Name] = true
					}
					return true
				})
				for e, err := range configs.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion}) {
					if err == nil {
						seen[e.Object.Name] = e.Type != reflector.Deleted
					}
				}
				time.Sleep(time.Second)
			}
			return err
		}
		p.Users = func(w *sim.World) error {
			_, err := fake.Create(w.Server, fake.Object(&planted.Config{}, key.Namespace, key.Name))
			w.Settle()
			_, failed := fake.Delete[*planted.Config](w.Server, key)
			return errors.Join(err, failed)
		}
		p.Finally = func(*sim.World) error {
			if seen["a"] {
				return errors.New("it shows an object that is gone")
			}
			return nil
		}
		return p
	}, 20)
	if found == nil || found.Rule != "finally" || !strings.HasPrefix(found.Script, "blind step of users ") {
		t.Errorf("got %+v", found)
	}
}

// The server may have forgotten the version of a list before its last page. This program takes that for the end.
func TestExploresPages(t *testing.T) {
	found := sim.Search(t, func() sim.Program {
		p, seen := planted.Tickets(), 0
		for _, name := range []string{"a", "b", "c"} {
			if _, err := fake.Create(p.Server, fake.Object(&planted.Config{}, "prod", name)); err != nil {
				t.Error(err)
			}
		}
		p.Run = func(ctx context.Context, to client.Connection) error {
			configs, err := client.New(to, planted.Configs, client.Options{})
			for failed := err == nil; failed; time.Sleep(time.Second) {
				seen, err = countPages(ctx, configs)
				failed = err != nil && !apierrors.IsResourceExpired(err) && ctx.Err() == nil
			}
			return idle(ctx, to)
		}
		p.Users = func(*sim.World) error { return nil }
		p.Finally = func(*sim.World) error {
			if seen != 3 {
				return fmt.Errorf("it shows %d objects, want 3", seen)
			}
			return nil
		}
		return p
	}, 60)
	if found == nil || found.Rule != "finally" || found.Script != "refuse list configs.example.com * call=2 code=410\n" {
		t.Errorf("got %+v", found)
	}
}

// countPages counts Configs, a page for each.
func countPages(ctx context.Context, configs *client.Resource[*planted.Config]) (n int, err error) {
	var page metav1.ListMeta
	for more := true; more && err == nil; more = page.Continue != "" {
		page, err = configs.List(ctx, metav1.ListOptions{Limit: 1, Continue: page.Continue}, func(reflector.Event[*planted.Config], error) bool {
			n++
			return true
		})
	}
	return n, err
}

// A refusal that is lost is no refusal for the program.
func TestLoseRefusal(t *testing.T) {
	var second error
	program := making(func(err error) { second = err })
	if found := sim.Again(t, program, ""); found != "" || !apierrors.IsAlreadyExists(second) {
		t.Errorf("without faults: %v; %s", second, found)
	}
	if found := sim.Again(t, program, "lose create configs.example.com prod/a call=2"); found != "" {
		t.Error(found)
	}
	if !errors.Is(second, io.ErrUnexpectedEOF) || apierrors.IsAlreadyExists(second) {
		t.Errorf("got %v, want an answer that was lost", second)
	}
}

// A program that waits for an answer does not rest.
func TestLateIsNoRest(t *testing.T) {
	var begun, rested time.Time
	make := making(func(error) {})
	program := func() sim.Program {
		begun = time.Now()
		p := make()
		p.Users = func(*sim.World) error { rested = time.Now(); return nil } // the program has come to rest before
		return p
	}
	if found := sim.Again(t, program, "late create configs.example.com prod/a by=10m"); found != "" {
		t.Error(found)
	}
	if took := rested.Sub(begun); took < 10*time.Minute {
		t.Errorf("it rested after %v, while an answer was on its way for ten minutes", took)
	}
}

// Each watch gets 410 that resumes from a version before the end of blind.
func TestBlindToAllWatches(t *testing.T) {
	program := func() sim.Program {
		p := planted.Tickets()
		from := p.Server.ResourceVersion()
		p.Keeps = []string{"configs.example.com"}
		p.Users = func(*sim.World) error { return nil }
		p.Run = func(ctx context.Context, to client.Connection) error {
			ended := make(chan error)
			for range 2 {
				go func() { ended <- follow(ctx, to, from) }()
			}
			time.Sleep(time.Second)
			_, _ = kinform.Open(to, planted.Configs).Create(ctx, fake.Object(&planted.Config{}, "prod", "a"), metav1.CreateOptions{})
			return errors.Join(<-ended, <-ended)
		}
		return p
	}
	got := sim.Transcript(t, program, "blind create configs.example.com prod/a by=30s watch=configs.example.com")
	if n := strings.Count(got, "→ 410"); n != 2 {
		t.Errorf("%d watches got 410, want 2:\n%s", n, got)
	}
}

// follow watches Configs from a version, and from the present one after a 410.
func follow(ctx context.Context, to client.Connection, version string) error {
	for ctx.Err() == nil {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, to.URL+"/apis/example.com/v1/configs?watch=true&resourceVersion="+version, nil)
		if err != nil {
			return err
		}
		answer, err := to.HTTP.Do(r)
		if err != nil {
			continue // ctx has ended
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode == http.StatusGone {
			version = ""
		}
		time.Sleep(10 * time.Second)
	}
	return nil
}
