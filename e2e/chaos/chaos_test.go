//go:build e2e

package chaos_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/e2e/beside"
	"github.com/kinform/kinform/e2e/oracle"
)

// TestChaos breaks everything in turn. After each fault the caches of Kinform must be what the
// server has, the histories of their handlers legal, and in the end no memory and no goroutine may
// be left.
func TestChaos(t *testing.T) {
	seed := *chaosSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed: -chaos.seed %d", seed)
	ctx, cancel := context.WithTimeout(t.Context(), *chaosTime+30*time.Minute)
	defer cancel()
	w := newWorld(ctx, t, seed)
	before := heap()
	c := &chaos{t: t, world: w, random: rand.New(rand.NewPCG(seed, 1))}
	c.start(ctx)
	c.rounds(ctx)
	c.stop()
	c.report()
	c.lanes, c.caches, c.copier = nil, nil, nil
	if after := heapBack(ctx, before+8<<20); after > before+8<<20 {
		t.Errorf("the heap grew from %d to %d bytes", before, after)
	}
}

// heapBack waits until the heap is not larger than enough, but no longer than three minutes, and
// returns its size. A dead HTTP/2 connection of either library keeps its memory for 90 seconds:
// net/http's timer for idle connections holds on to it.
func heapBack(ctx context.Context, enough uint64) (size uint64) {
	for limit := time.Now().Add(3 * time.Minute); ; {
		if size = heap(); size <= enough || time.Now().After(limit) || sleep(ctx, 2*time.Second) != nil {
			return size
		}
	}
}

// chaos is a run of TestChaos.
type chaos struct {
	t      *testing.T
	world  *world
	random *rand.Rand // of the faults
	lanes  []*lane    // Kinform's, then client-go's
	caches []checkedCache
	copier *copier
	took   []took
	listed [][2]time.Duration // as in took, while lists alone kept the caches up to date
	heaps  []uint64

	away    bool            // the server sends clients away
	arrived []time.Duration // how long contents took that changed without a version
	anew    int             // how often they did not come before the informers ran anew
}

// took is how long the libraries took to be right again in a round. Zero means longer than the
// limit.
type took struct {
	fault string
	times [2]time.Duration
}

func (c *chaos) start(ctx context.Context) {
	c.t.Helper()
	kinform, caches, err := c.world.kinform()
	if err != nil {
		c.t.Fatal(err)
	}
	clientGo, err := c.world.clientGo()
	if err != nil {
		c.t.Fatal(err)
	}
	c.lanes, c.caches = []*lane{kinform, clientGo}, caches
	conn, err := c.world.connection(kinform.proxy)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, l := range c.lanes {
		l.side.Start()
	}
	c.copier = startCopier(ctx, conn)
	if times, err := c.right(ctx, time.Now()); err != nil {
		c.t.Errorf("initial lists: %v", err)
	} else {
		c.t.Logf("initial lists after %v", times)
	}
}

func (c *chaos) stop() {
	if err := c.copier.stop(); err != nil {
		c.t.Errorf("the copier: %v", err)
	}
	for _, l := range c.lanes {
		if err := l.side.Stop(); err != nil {
			c.t.Error(err)
		}
		l.proxy.Close()
	}
	c.world.server.HTTP.CloseIdleConnections()
}

// rounds has every fault happen once in a random order, and then again, until the time is over.
func (c *chaos) rounds(ctx context.Context) {
	var only *regexp.Regexp
	if *chaosFaults != "" {
		only = regexp.MustCompile(*chaosFaults)
	}
	faults := slices.DeleteFunc(allFaults(), func(f fault) bool { return only != nil && !only.MatchString(f.name) })
	if len(faults) == 0 {
		c.t.Fatalf("no fault matches %q", *chaosFaults)
	}
	var left []fault
	for begin, n := time.Now(), 1; time.Since(begin) < *chaosTime && ctx.Err() == nil; n++ {
		if len(left) == 0 {
			left = slices.Clone(faults)
			c.random.Shuffle(len(left), func(i, j int) { left[i], left[j] = left[j], left[i] })
		}
		f := left[0]
		left = left[1:]
		if err := c.round(ctx, n, f); err != nil {
			c.t.Errorf("round %d, %s: %v", n, f.name, err)
			if !errors.Is(err, errWrong) && !errors.Is(err, beside.ErrLate) {
				return // the servers are not as they should be
			}
		}
		if n%10 == 0 {
			c.heaps = append(c.heaps, heap())
		}
	}
}

// errWrong is wrapped by the errors that say that Kinform is wrong.
var errWrong = errors.New("wrong")

// round has a fault happen while objects change, measures how long the libraries take to be right,
// and compares.
func (c *chaos) round(ctx context.Context, n int, f fault) error {
	length := upTo(c.random, *chaosOutage)
	quiet := upTo(c.random, *chaosPause)
	if c.random.IntN(5) == 0 && *chaosPause > 10*time.Second {
		quiet = 31 * time.Second // until watches count as old
	}
	stop := c.world.churn.run(ctx)
	defer stop()
	if err := sleep(ctx, quiet); err != nil {
		return err
	}
	if err := f.do(ctx, c, length); err != nil {
		return err
	}
	times, err := c.right(ctx, time.Now())
	c.took = append(c.took, took{f.name, times})
	c.t.Logf("round %d, %s for %v: right after %v and %v", n, f.name, length.Round(time.Millisecond), times[0].Round(time.Millisecond), times[1].Round(time.Millisecond))
	if err != nil {
		return err
	}
	if err := stop(); err != nil {
		return err
	}
	if err := c.copier.copied(ctx, c.world.server); err != nil {
		return err
	}
	return c.compare(ctx)
}

// right writes the markers and waits until both libraries have them, and Kinform the contents that
// gadgets have now. The times are those since the server was right. The error is Kinform's only;
// client-go's is logged.
func (c *chaos) right(ctx context.Context, since time.Time) (times [2]time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, *chaosLimit)
	defer cancel()
	versions, err := c.world.churn.mark(ctx)
	if err != nil {
		return times, err
	}
	var errs [2]error
	done := make(chan struct{})
	for i, l := range c.lanes {
		go func() {
			errs[i] = l.side.Await(ctx, func(cache beside.Cache) bool {
				ours, ok := cache.(checkedCache)
				return reached(cache, versions) && (!ok || ours.current())
			})
			if errs[i] == nil {
				times[i] = time.Since(since)
			}
			done <- struct{}{}
		}()
	}
	<-done
	<-done
	if errs[1] != nil {
		c.t.Log(errs[1])
	}
	return times, errs[0]
}

func reached(cache beside.Cache, versions map[schema.GroupResource]string) bool {
	k := cache.Kind()
	return cache.Synced() && !older(cache.Version(markerKey(k)), versions[k.GVR.GroupResource()])
}

// compare compares Kinform's caches with the server's lists while there are no writes.
func (c *chaos) compare(ctx context.Context) error {
	if _, err := c.right(ctx, time.Now()); err != nil {
		return err
	}
	var errs []error
	for _, cache := range c.caches {
		items, _, err := oracle.List[json.RawMessage](ctx, c.world.server, cache.Kind().Path("", ""), metav1.ListOptions{})
		if err != nil {
			return err
		}
		if err := errors.Join(cache.compare(items), cache.illegal()); err != nil {
			errs = append(errs, fmt.Errorf("%w: %w", errWrong, err))
		}
		limited, cancel := context.WithTimeout(ctx, *chaosLimit)
		err = oracle.Until(limited, func() error {
			if !cache.settled() {
				return fmt.Errorf("%w: the handler has not what the store has: %s", errWrong, cache.Why())
			}
			if cache.polls() {
				return fmt.Errorf("%w: lives by lists while watches are served: %s", errWrong, cache.Why())
			}
			return nil
		})
		cancel()
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// report prints the medians and the longest times, by fault and for all rounds.
func (c *chaos) report() {
	var b strings.Builder
	b.WriteString("| fault | rounds | Kinform | longest | client-go | longest |\n| --- | ---: | ---: | ---: | ---: | ---: |\n")
	by := map[string][]took{}
	for _, r := range c.took {
		by[r.fault] = append(by[r.fault], r)
	}
	for _, f := range allFaults() {
		row(&b, f.name, by[f.name])
	}
	row(&b, "all", c.took)
	events := 0
	for _, cache := range c.caches {
		events += cache.events()
	}
	c.t.Logf("the copier: %d reconciles, %d writes", c.copier.calls.Load(), c.copier.writes.Load())
	c.t.Logf("median time until right\n%s\nby lists: %v; new contents at old versions: %v, and by another Run: %d\n%d writes, %d events; heap by ten rounds: %v", &b, c.listed, c.arrived, c.anew, c.world.churn.written.Load(), events, c.heaps)
}

func row(b *strings.Builder, name string, rounds []took) {
	if len(rounds) == 0 {
		return
	}
	fmt.Fprintf(b, "| %s | %d |", name, len(rounds))
	for i := range 2 {
		var times []time.Duration
		for _, r := range rounds {
			times = append(times, cmp.Or(r.times[i], *chaosLimit))
		}
		slices.Sort(times)
		fmt.Fprintf(b, " %.2f s | %.2f s |", times[(len(times)-1)/2].Seconds(), times[len(times)-1].Seconds())
	}
	b.WriteString("\n")
}

// heap returns the bytes in use after garbage collection.
func heap() uint64 {
	for range 3 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
