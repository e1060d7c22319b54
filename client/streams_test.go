package client_test

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/longtest"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/store"
)

// accepted counts the connections of a server.
type accepted struct {
	mu        sync.Mutex
	all, open int
	none      chan struct{} // closed and replaced when the last one is closed
}

func (a *accepted) count(_ net.Conn, state http.ConnState) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch state {
	case http.StateNew:
		a.all++
		a.open++
	case http.StateClosed:
		if a.open--; a.open == 0 {
			close(a.none)
			a.none = make(chan struct{})
		}
	}
}

// now returns the connections so far, those that are open, and a channel that is closed when there are none.
func (a *accepted) now() (all, open int, none <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.all, a.open, a.none
}

// A thousand watches of one Connection need more streams than an HTTP/2 connection has. They share ten connections, and the
// eleventh has room for writes, whether they begin one after the other or at once.
func TestManyStreams(t *testing.T) {
	t.Run("one after the other", func(t *testing.T) { testStreams(t, longtest.N(200, 1000), false) })
	t.Run("at once", func(t *testing.T) { testStreams(t, longtest.N(300, 1000), true) })
}

func testStreams(t *testing.T, many int, atOnce bool) {
	const streams = 100
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	s := fake.New(fake.Options{})
	if err := fake.Register(s, kind.OfResource[*gadget](gadgets.GroupVersionResource()).Named("Gadget"), fake.Rules{}); err != nil {
		t.Fatal(err)
	}
	var hanging atomic.Int32
	conns := accepted{none: make(chan struct{})}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("%s %s over %s", r.Method, r.URL, r.Proto)
		}
		if r.URL.Query().Has("watch") {
			hanging.Add(1)
			defer hanging.Add(-1)
		}
		s.ServeHTTP(w, r)
	}))
	server.EnableHTTP2 = true
	server.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: streams}
	server.Config.ConnState = conns.count
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	conn := connect(t, server.URL, client.ConnectionOptions{CA: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})})

	key := func(n int) types.NamespacedName {
		return types.NamespacedName{Namespace: fmt.Sprint("n", n), Name: "one"}
	}
	informers := make([]*informer.Informer[types.NamespacedName, *gadget], many)
	var running sync.WaitGroup
	for n := range many {
		if _, err := fake.Create(s, fake.Object(&gadget{}, key(n).Namespace, "one")); err != nil {
			t.Fatal(err)
		}
		r, err := client.New(conn, gadgets, client.Options{Namespace: key(n).Namespace})
		if err != nil {
			t.Fatal(err)
		}
		if informers[n], err = informer.New(r, store.ObjectKey[*gadget], informer.Options[*gadget]{}); err != nil {
			t.Fatal(err)
		}
	}
	synced := func(inf *informer.Informer[types.NamespacedName, *gadget]) {
		if err := inf.WaitForSync(ctx); err != nil {
			t.Fatal(err)
		}
	}
	for _, inf := range informers {
		running.Go(func() {
			if err := inf.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		if !atOnce {
			synced(inf)
		}
	}
	for _, inf := range informers {
		synced(inf)
	}
	writer, err := client.New(conn, gadgets, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for n, inf := range informers {
		if _, err := writer.Patch(ctx, key(n), types.MergePatchType, []byte(`{"metadata":{"labels":{"new":"yes"}}}`), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := inf.WaitFor(ctx, key(n), func(g *gadget, ok bool) bool { return ok && g.Labels["new"] == "yes" }); err != nil {
			t.Fatal(err)
		}
	}
	all, _, _ := conns.now()
	if t.Logf("%d connections", all); hanging.Load() != int32(many) || all < many/streams || all > many/streams+3 {
		t.Errorf("%d watches, %d connections", hanging.Load(), all)
	}
	cancel()
	running.Wait()
	conn.HTTP.CloseIdleConnections()
	if _, open, none := conns.now(); open > 0 {
		select {
		case <-none:
		case <-time.After(time.Minute):
			t.Errorf("of %d connections some are left", open)
		}
	}
}
