package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// startLimit bounds Process.Start. A start takes 2 s on an idle machine and 20 s on a crowded
	// one.
	startLimit = 3 * time.Minute
	// pollInterval is the time between two questions for readiness.
	pollInterval = 20 * time.Millisecond
	// probeLimit bounds one question.
	probeLimit = 5 * time.Second
)

// Process is a server program that can be started over and over: at the same address, on the same
// data and with the same log file. Its methods may be called from any goroutine.
type Process struct {
	name    string // set once
	path    string // set once
	args    []string
	logPath string
	ready   func(ctx context.Context) error // asks once; nil error means ready

	mu      sync.Mutex
	extra   []string // follow args
	current *run     // nil when not started, or when ended on request
}

// run is one life of a Process.
type run struct {
	cmd  *exec.Cmd
	done chan struct{} // closed after the program has ended
	err  error         // how it ended; may be read after done is closed
}

// Start starts the program and waits until it serves. It returns ErrRunning if the program
// runs already, and ErrExited if it ended before it was ready. Otherwise the error says why
// the program could not be started, or gives the last readiness check's answer when ctx, or a
// limit of three minutes, ended the wait. After an error, other than ErrRunning, the program
// does not run.
func (p *Process) Start(ctx context.Context) error {
	r, err := p.launch()
	if err != nil {
		return fmt.Errorf("starting %s: %w", p.name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if err := p.waitReady(ctx, r); err != nil {
		p.abandon(r)
		return fmt.Errorf("starting %s: %w", p.name, err)
	}
	return nil
}

// SetExtraArgs replaces the extra arguments of Options, from the next start on.
func (p *Process) SetExtraArgs(args ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.extra = slices.Clone(args)
}

// Restart is Stop, if the program runs, and Start.
func (p *Process) Restart(ctx context.Context) error {
	if err := p.Stop(ctx); err != nil {
		return err
	}
	return p.Start(ctx)
}

// Kill ends the program with SIGKILL and returns when it has ended. Clients see their
// connections break, and the program flushes nothing. Kill does nothing if the program does
// not run.
func (p *Process) Kill() {
	if r := p.take(); r != nil {
		_ = r.cmd.Process.Kill() // fails only if it has ended
		<-r.done
	}
}

// Stop ends the program with SIGTERM and returns when it has ended. The API server ends open
// watches after about a second and closes connections properly. If ctx ends first, Stop kills
// the program and returns ctx's error. Stop does nothing if the program does not run.
func (p *Process) Stop(ctx context.Context) error {
	r := p.take()
	if r == nil {
		return nil
	}
	_ = r.cmd.Process.Signal(syscall.SIGTERM) // fails only if it has ended
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		_ = r.cmd.Process.Kill()
		<-r.done
		return fmt.Errorf("stopping %s: %w", p.name, context.Cause(ctx))
	}
}

// Running reports whether the program runs. It is also false if the program ended by itself.
func (p *Process) Running() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.current != nil && !p.current.ended()
}

// PID returns the process id of the running program, or 0.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current == nil || p.current.ended() {
		return 0
	}
	return p.current.cmd.Process.Pid
}

// LogTail returns the last lines that the program wrote, over all its lives; at most 64 KiB.
func (p *Process) LogTail(lines int) string {
	const most = 64 << 10
	file, err := os.Open(p.logPath)
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err.Error()
	}
	buf := make([]byte, min(info.Size(), most))
	n, _ := file.ReadAt(buf, info.Size()-int64(len(buf)))
	all := strings.Split(strings.TrimRight(string(buf[:n]), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// crashed returns ErrExited with the log if the program ended without being asked to.
func (p *Process) crashed() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current == nil || !p.current.ended() {
		return nil
	}
	return p.exitError(p.current)
}

func (p *Process) exitError(r *run) error {
	return fmt.Errorf("%s: %w (%v)\n%s", p.name, ErrExited, r.err, p.LogTail(30))
}

// take returns the current life and forgets it, so that one caller is the one to end it.
func (p *Process) take() *run {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.current
	p.current = nil
	return r
}

// abandon kills the life r. It leaves a later one alone that another goroutine has started
// meanwhile.
func (p *Process) abandon(r *run) {
	p.mu.Lock()
	if p.current == r {
		p.current = nil
	}
	p.mu.Unlock()
	_ = r.cmd.Process.Kill() // fails only if it has ended
	<-r.done
}

func (p *Process) launch() (*run, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current != nil && !p.current.ended() {
		return nil, ErrRunning
	}
	log, err := os.OpenFile(p.logPath, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the child has its own descriptor
	cmd := exec.Command(p.path, slices.Concat(p.args, p.extra)...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = childAttr()
	r := &run{cmd: cmd, done: make(chan struct{})}
	if err := r.start(); err != nil {
		return nil, err
	}
	p.current = r
	return r, nil
}

// start starts the program from a goroutine that keeps its thread until the program has ended: the
// kernel ties the life of the child to the thread that forked it, and the Go runtime may end a
// thread before the process.
func (r *run) start() error {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := r.cmd.Start()
		started <- err
		if err == nil {
			r.err = r.cmd.Wait()
			close(r.done)
		}
	}()
	return <-started
}

func (r *run) ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// waitReady asks until the program is ready, has ended, or ctx ends.
func (p *Process) waitReady(ctx context.Context, r *run) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	last := errors.New("no answer yet")
	for {
		probe, cancel := context.WithTimeout(ctx, probeLimit)
		err := p.ready(probe)
		cancel()
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			last = err // with ctx ended it would say no more than that
		}
		select {
		case <-tick.C:
		case <-r.done:
			return p.exitError(r)
		case <-ctx.Done():
			return fmt.Errorf("not ready: %w: %w\n%s", context.Cause(ctx), last, p.LogTail(30))
		}
	}
}
