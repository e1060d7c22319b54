package sim

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
)

// The times until a process is started again.
const (
	afterCrash = time.Second
	afterEnd   = 10 * time.Second // it ended on its own, and a kubelet would wait
)

// life is one life of a process, from its start to its end or its crash.
type life struct {
	process int // its number, from 1
	end     context.CancelFunc
	dead    atomic.Bool
	behind  atomic.Pointer[behind]
}

// behind is a server whose cache is old for a while.
type behind struct {
	version int64 // of its lists, if they may be old
	until   time.Time
}

// crash ends a life. From now on it reaches no server.
func (l *life) crash() {
	l.dead.Store(true)
	l.end()
}

// age turns a list that may be old into one that is.
func (l *life) age(r *http.Request, c call) {
	old := l.behind.Load()
	query := r.URL.Query()
	if old == nil || time.Now().After(old.until) || c.verb != faults.VerbList || query.Get("resourceVersion") != "0" {
		return
	}
	query.Set("resourceVersion", strconv.FormatInt(old.version, 10))
	query.Set("resourceVersionMatch", string(metav1.ResourceVersionMatchExact))
	aged := *r.URL // it belongs to others
	aged.RawQuery = query.Encode()
	r.URL = &aged
}

// live runs a process again and again, until ctx ends. No two processes start at once.
func (r *run) live(ctx context.Context, process int) {
	quit := true
	defer func() { r.leaves(process, quit) }()
	wait := time.Duration(process-1) * latency
	time.Sleep(wait)
	for ctx.Err() == nil {
		lifetime, end := context.WithCancel(ctx)
		l := &life{process: process, end: end}
		r.begins(l)
		err := guarded(func() error { return r.program.Run(lifetime, r.connection(l)) })
		end()
		crashed := l.dead.Swap(true)
		if ctx.Err() != nil {
			r.endsWith(err)
			break
		}
		pause := afterCrash
		if !crashed {
			pause = afterEnd
			r.exits(process, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause + wait):
		}
	}
	quit = false
}

func (r *run) connection(l *life) client.Connection {
	return client.Connection{URL: fake.URL, HTTP: &http.Client{Transport: road{r, l}}}
}

// errQuit is what becomes of a function that calls t.Fatal or runtime.Goexit.
var errQuit = errors.New("it ended its goroutine, as t.Fatal does: return an error instead")

// apart is guarded in a goroutine of its own, so that the end of it is an error, too.
func apart(f func() error) error {
	done := make(chan error, 1)
	go func() {
		err := errQuit
		defer func() { done <- err }()
		err = guarded(f)
	}()
	return <-done
}

// guarded turns a panic into an error.
func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}
