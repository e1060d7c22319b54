package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// fake returns a Process of the fake server, and its URL.
func fake(t *testing.T, mode string) (*Process, string) {
	t.Helper()
	ports, err := freePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	addr := "127.0.0.1:" + ports[0]
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	p := &Process{
		name: "fake", path: os.Args[0], args: []string{"fake-server", mode, addr},
		logPath: filepath.Join(t.TempDir(), "log"),
		ready: func(ctx context.Context) error {
			_, err := ask(ctx, client, http.MethodGet, "http://"+addr, nil)
			return err
		},
	}
	t.Cleanup(p.Kill)
	return p, "http://" + addr
}

func alive(pid int) bool {
	return syscall.Kill(pid, 0) == nil
}

func TestProcessLives(t *testing.T) {
	p, _ := fake(t, "serves")
	ctx := t.Context()
	if p.Running() || p.PID() != 0 {
		t.Fatalf("before Start: Running %v, PID %d", p.Running(), p.PID())
	}
	if err := p.Start(ctx); err != nil {
		t.Fatal(err)
	}
	first := p.PID()
	if !p.Running() || !alive(first) {
		t.Fatalf("after Start: Running %v, pid %d alive %v", p.Running(), first, alive(first))
	}
	if err := p.Start(ctx); !errors.Is(err, ErrRunning) {
		t.Fatalf("second Start: %v, want ErrRunning", err)
	}
	if p.PID() != first {
		t.Fatal("a refused Start changed the process")
	}
	p.Kill()
	p.Kill()
	if p.Running() || alive(first) {
		t.Fatal("runs after Kill")
	}
	if err := p.Restart(ctx); err != nil {
		t.Fatalf("Restart of a dead process: %v", err)
	}
	second := p.PID()
	if err := p.Restart(ctx); err != nil {
		t.Fatalf("Restart of a running process: %v", err)
	}
	if alive(second) || p.PID() == second {
		t.Fatal("Restart kept the old process")
	}
	for range 2 {
		if err := p.Stop(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Count(p.LogTail(100), "fake server"); got != 3 {
		t.Fatalf("log tells of %d lives, want 3:\n%s", got, p.LogTail(100))
	}
}

func TestProcessSetExtraArgs(t *testing.T) {
	p, _ := fake(t, "serves")
	modeAndAddress := p.args[1:]
	p.args = p.args[:1]
	for life, mode := range []string{"serves", "deaf"} {
		p.SetExtraArgs(mode, modeAndAddress[1])
		if err := p.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.Kill()
		if log := p.LogTail(100); strings.Count(log, "fake server") != life+1 || !strings.HasSuffix(log, "in mode "+mode) {
			t.Errorf("life %d was to be in mode %s:\n%s", life, mode, log)
		}
	}
}

func TestProcessEndsByItself(t *testing.T) {
	p, url := fake(t, "serves")
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.crashed(); err != nil {
		t.Fatalf("a living process: %v", err)
	}
	if resp, err := http.Get(url + "/exit"); err == nil {
		resp.Body.Close()
		t.Fatal("the server answered a request to exit")
	}
	<-p.current.done
	if err := p.crashed(); !errors.Is(err, ErrExited) || !strings.Contains(err.Error(), "exit status 4") {
		t.Fatalf("crashed: %v, want ErrExited with the status", err)
	}
	if p.Running() || p.PID() != 0 {
		t.Fatal("runs after its end")
	}
	if err := p.Start(t.Context()); err != nil {
		t.Fatalf("Start after a crash: %v", err)
	}
	if err := p.crashed(); err != nil {
		t.Fatalf("a crash is remembered after a new start: %v", err)
	}
}

func TestProcessStartFails(t *testing.T) {
	p, _ := fake(t, "fails")
	err := p.Start(t.Context())
	if !errors.Is(err, ErrExited) || !strings.Contains(err.Error(), "fake server in mode fails") {
		t.Fatalf("Start of a failing program: %v, want ErrExited with the log", err)
	}

	p, _ = fake(t, "unready")
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	ready := p.ready
	probes := 0
	p.ready = func(ctx context.Context) error {
		if probes++; probes == 3 {
			cancel(cause)
		}
		return ready(ctx)
	}
	err = p.Start(ctx)
	if !errors.Is(err, cause) || !strings.Contains(err.Error(), "connection refused") {
		t.Fatalf("Start of a program that is never ready: %v, want the cause and the last answer", err)
	}
	if p.Running() {
		t.Fatal("runs after a failed Start")
	}

	p.path = "/nonexistent/program"
	if err := p.Start(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("Start of no program: %v", err)
	}
	p.logPath = "/nonexistent/log"
	if err := p.Start(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("Start without a log: %v", err)
	}
	if tail := p.LogTail(1); !strings.Contains(tail, "no such file") {
		t.Fatalf("LogTail without a log: %q", tail)
	}
}

func TestProcessStopKillsAtLast(t *testing.T) {
	p, _ := fake(t, "deaf")
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	pid := p.PID()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := p.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Stop of a deaf process: %v, want the error of ctx", err)
	}
	if alive(pid) {
		t.Fatal("alive after Stop")
	}
}

// Random calls from many goroutines: none blocks for ever, and no program outlives the last Kill.
func TestProcessConcurrentCalls(t *testing.T) {
	p, _ := fake(t, "serves")
	var mu sync.Mutex
	pids := map[int]bool{}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 10 {
				switch rand.IntN(4) {
				case 0:
					p.Kill()
				case 1:
					_ = p.Stop(t.Context())
				case 2:
					_ = p.Start(t.Context()) // another call may end it meanwhile
				case 3:
					_ = p.Restart(t.Context())
				}
				mu.Lock()
				pids[p.PID()] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	p.Kill()
	delete(pids, 0)
	if len(pids) == 0 {
		t.Fatal("no process was ever seen")
	}
	for pid := range pids {
		if alive(pid) {
			t.Errorf("process %d outlived Kill", pid)
		}
	}
}

func TestLogTail(t *testing.T) {
	p := &Process{logPath: filepath.Join(t.TempDir(), "log")}
	var text strings.Builder
	for i := range 20000 {
		fmt.Fprintf(&text, "line %d\n", i)
	}
	if err := os.WriteFile(p.logPath, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, want := p.LogTail(2), "line 19998\nline 19999"; got != want {
		t.Fatalf("LogTail(2) = %q, want %q", got, want)
	}
	if got := len(p.LogTail(20000)); got > 64<<10 || got < 60<<10 {
		t.Fatalf("LogTail of everything has %d bytes, want nearly 64 KiB", got)
	}
}
