//go:build e2e

package e2e_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net/http"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/e2e/cluster"
	"github.com/kinform/kinform/e2e/oracle"
	"github.com/kinform/kinform/reflector"
)

var (
	soakObjects = flag.Int("soak.objects", 2500, "`number` of objects of TestSoak")
	soakTime    = flag.Duration("soak.time", 24*time.Second, "`time` for which TestSoak changes them")
)

// TestSoak has 20 informers of 5 types on a real API server, with two handlers each, while
// objects come, change and go, servers are killed, connections cut and history is forgotten.
// Again and again it lets them catch up: then stores and handlers must have what the server
// has, and memory, goroutines and connections must be what they were.
//
//	KINFORM_E2E=1 go test -tags e2e -timeout 60m -run Soak -v . -args -soak.objects 50000 -soak.time 10m
func TestSoak(t *testing.T) {
	// The configmaps come from etcd itself, so that a compaction alone shows as 410.
	c := cluster.Start(t, cluster.Options{ExtraAPIServerArgs: []string{"--watch-cache-sizes=configmaps#0"}})
	ctx, cancel := context.WithTimeout(t.Context(), *soakTime+30*time.Minute)
	defer cancel()
	s := &soak{t: t, ctx: ctx, cluster: c, dialer: &dialer{}}
	server := &oracle.Client{URL: c.URL(), HTTP: c.HTTPClient()}
	s.people = newPopulation(server, soakKinds(), *soakObjects)
	if err := s.people.fill(ctx); err != nil {
		t.Fatal(err)
	}
	conn, err := client.NewConnection(c.URL(), client.ConnectionOptions{CAFile: c.CAFile(), Token: c.Token(), DialContext: s.dialer.DialContext})
	if err != nil {
		t.Fatal(err)
	}
	s.gate = newGate(conn.HTTP.Transport)
	before := s.quiet()
	shut := client.Connection{URL: conn.URL, HTTP: &http.Client{Transport: s.gate}}
	for _, kind := range s.people.kinds {
		s.all = append(s.all, kind.informers(t, shut)...)
	}
	for _, inf := range s.all {
		inf.start()
	}
	s.checkpoint(0)
	span := min(time.Minute, *soakTime/3)
	for begin := time.Now(); time.Since(begin) < *soakTime && !t.Failed(); {
		s.churn(span)
		s.checkpoint(time.Since(begin))
	}
	s.compare()
	for _, inf := range s.all {
		if err := inf.stop(); err != nil {
			t.Error(err)
		}
	}
	s.report()
	s.flat()
	s.dialer.noneOpen(t, conn.HTTP)
	s.all = nil
	s.left(before)
}

// soak is the run of TestSoak.
type soak struct {
	t       *testing.T
	ctx     context.Context
	cluster *cluster.Cluster
	dialer  *dialer
	gate    *gate
	people  *population
	all     []soakInformer
	faults  int            // next of the cycle
	counts  map[string]int // faults by name
	samples []sample
}

// churn writes for a span of time and makes a fault four times in it.
func (s *soak) churn(span time.Duration) {
	s.t.Helper()
	for _, inf := range s.all {
		inf.stall()
		defer inf.resume()
	}
	writing, end := context.WithCancel(s.ctx)
	defer end()
	written := make(chan error, 1)
	go func() { written <- s.people.change(s.ctx, writing.Done()) }()
	for begin := time.Now(); time.Since(begin) < span && s.ctx.Err() == nil; {
		select {
		case <-time.After(span / 4):
		case <-s.ctx.Done():
		}
		if err := s.fault(); err != nil {
			s.t.Error(err)
			break
		}
	}
	end()
	if err := <-written; err != nil {
		s.t.Fatal(err)
	}
}

// fault makes the next fault of the cycle, and returns when the servers are up again.
func (s *soak) fault() error {
	etcd, api := s.cluster.Etcd, s.cluster.APIServer
	cycle := []struct {
		name string
		do   func() error
	}{
		{"connections cut", func() error { s.dialer.cut(); return nil }},
		{"kill -9 kube-apiserver", func() error { return s.restart(api) }},
		{"compaction unseen", func() error { return s.forget(func() error { return nil }) }},
		{"kill -9 etcd", func() error { return s.restart(etcd) }},
		{"compaction and kill -9 kube-apiserver unseen", func() error { return s.forget(func() error { return s.restart(api) }) }},
		{"kill -9 both", func() error { return s.restart(etcd, api) }},
	}
	next := cycle[s.faults%len(cycle)]
	s.faults++
	if s.counts == nil {
		s.counts = map[string]int{}
	}
	s.counts[next.name]++
	if err := next.do(); err != nil {
		return fmt.Errorf("%s: %w", next.name, err)
	}
	return nil
}

// restart kills servers with SIGKILL and starts them in the order given.
func (s *soak) restart(servers ...*cluster.Process) error {
	for _, p := range servers {
		p.Kill()
	}
	for _, p := range servers {
		if err := p.Start(s.ctx); err != nil {
			return err
		}
	}
	return nil
}

// forget has etcd forget what was written while the informers could not see it.
func (s *soak) forget(then func() error) error {
	s.gate.Shut()
	defer s.gate.Open()
	const unseen = 100
	from := s.people.written.Load()
	if err := eventually(s.ctx, func() bool { return s.people.written.Load() >= from+unseen }); err != nil {
		return err
	}
	rv, err := s.people.update(s.ctx, s.people.slots[0], "0")
	if err != nil {
		return err
	}
	if err := s.cluster.Compact(s.ctx, rv); err != nil {
		return err
	}
	return then()
}

// sample is the state after all caches have caught up.
type sample struct {
	at                       time.Duration
	heap                     uint64 // after garbage collection
	goroutines, connections  int
	writes                   int64
	objects, told, faults    int // told: of an event, over all handlers
	received, lists, expired uint64
	failing, otherRelists    uint64
	failed, overran          uint64
}

// checkpoint waits until all have caught up, and takes a sample.
func (s *soak) checkpoint(at time.Duration) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, 5*time.Minute)
	defer cancel()
	versions, err := s.people.touch(ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, inf := range s.all {
		if err := inf.catchUp(ctx, versions[inf.resource()]); err != nil {
			s.t.Fatal(err)
		}
		if err := inf.illegal(); err != nil {
			s.t.Error(err)
		}
	}
	now := s.take()
	now.at = at
	s.samples = append(s.samples, now)
	s.t.Logf("%s", now)
}

func (s *soak) take() sample {
	now := sample{writes: s.people.written.Load(), faults: s.faults}
	for _, inf := range s.all {
		st := inf.stats()
		now.objects += st.Objects
		now.received += st.Added + st.Modified + st.Deleted
		now.lists += st.Lists
		now.expired += st.Relists.Expired
		now.failing += st.Relists.Failing
		now.otherRelists += others(st.Relists)
		now.failed += st.Failures
		told, overran := inf.told()
		now.told += told
		now.overran += overran
	}
	now.connections, _ = s.dialer.count()
	for range 3 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	now.heap, now.goroutines = m.HeapAlloc, runtime.NumGoroutine()
	return now
}

// others counts relists for other reasons than a 410 or watches that go on failing.
func others(r reflector.Relists) uint64 {
	return r.TooLarge + r.OutOfOrder + r.Unreadable + r.Refused
}

const sampleHead = "| after | heap | goroutines | connections | writes | faults | objects in stores | watch events | handler events | lists | relists: 410 | failing | other | failed requests | overruns |\n" +
	"| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"

func (s sample) String() string {
	return fmt.Sprintf("| %v | %.1f MB | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d |", s.at.Round(time.Second), float64(s.heap)/1e6,
		s.goroutines, s.connections, s.writes, s.faults, s.objects, s.received, s.told, s.lists, s.expired, s.failing, s.otherRelists, s.failed, s.overran)
}

func (s *soak) report() {
	var b strings.Builder
	b.WriteString(sampleHead)
	for _, now := range s.samples {
		fmt.Fprintln(&b, now)
	}
	s.t.Logf("faults: %v\n%s", s.counts, &b)
}

// flat fails the test if memory grows or a reason to relist was not met. The first sample is
// of before the first change.
func (s *soak) flat() {
	s.t.Helper()
	first, last := s.samples[1], s.samples[len(s.samples)-1]
	if most := float64(first.heap)*1.05 + 4e6; float64(last.heap) > most {
		s.t.Errorf("the heap grew from %d to %d bytes", first.heap, last.heap)
	}
	if last.goroutines > first.goroutines+len(s.all) {
		s.t.Errorf("%d goroutines were %d", last.goroutines, first.goroutines)
	}
	// Who was away for long lists before a watch could be told that its version is gone.
	if last.expired+last.failing == 0 || last.received == 0 {
		s.t.Error("nothing was missed or nothing seen")
	}
}

// compare compares everything with the server.
func (s *soak) compare() {
	s.t.Helper()
	for _, kind := range s.people.kinds {
		truth, err := kind.list(s.ctx, s.people.server)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, inf := range s.all {
			if inf.resource() == kind.gvr.Resource {
				inf.compare(s.t, truth)
			}
		}
	}
}

// quiet is the number of goroutines while the servers are not spoken to.
func (s *soak) quiet() int {
	s.people.server.HTTP.CloseIdleConnections()
	least, same := runtime.NumGoroutine(), 0
	_ = eventually(s.ctx, func() bool {
		if now := runtime.NumGoroutine(); now < least {
			least, same = now, 0
		}
		same++
		return same == 50
	})
	return least
}

// left fails the test if there are more goroutines than before.
func (s *soak) left(before int) {
	s.t.Helper()
	if after := s.quiet(); after > before {
		var stacks bytes.Buffer
		_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1)
		s.t.Errorf("%d goroutines were left behind:\n%s", after-before, &stacks)
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	s.t.Logf("afterwards: heap %.1f MB, goroutines as before", float64(m.HeapAlloc)/1e6)
}
