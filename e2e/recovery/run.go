//go:build e2e

package recovery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/e2e/beside"
	"github.com/kinform/kinform/e2e/cluster"
	"github.com/kinform/kinform/e2e/oracle"
	"github.com/kinform/kinform/e2e/proxy"
)

// library starts the informers of one library.
type library func([]beside.Kind, beside.Options) (*beside.Side, error)

var libraries = []library{beside.Kinform, beside.ClientGo}

// Run causes all events on c, a fresh cluster, and returns the measurements by event and library.
// The error joins all failures: Kinform was not right within Options.Limit (beside.ErrLate), one of
// its caches differed from the server's list, or a server did not do its part, which ends the
// event. Failures of client-go go to Options.Progress.
func Run(ctx context.Context, c *cluster.Cluster, opts Options) ([]Result, error) {
	opts = opts.withDefaults()
	b := &bench{opts: opts, cluster: c}
	token, err := b.round(nil).prepare(ctx, c)
	if err != nil {
		return nil, err
	}
	b.token = token
	var results []Result
	var errs []error
	for _, e := range events(opts) {
		if opts.Only != nil && !opts.Only.MatchString(e.name) {
			continue
		}
		got, err := b.measure(ctx, e)
		results = append(results, got...)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", e.name, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return results, errors.Join(errs...)
}

// bench is a run of all events.
type bench struct {
	opts    Options
	cluster *cluster.Cluster
	token   string // file
}

func (b *bench) round(kinds []beside.Kind) *round {
	return &round{
		opts: b.opts, cluster: b.cluster, kinds: kinds, wanted: map[schema.GroupVersionResource]string{},
		server: &oracle.Client{URL: b.cluster.URL(), HTTP: b.cluster.HTTPClient()},
		guest:  &oracle.Client{URL: b.cluster.URL(), HTTP: b.cluster.HTTPClientAs(b.cluster.GuestToken())},
	}
}

// measure causes an event for the libraries: for both at once, or for each alone.
func (b *bench) measure(ctx context.Context, e event) ([]Result, error) {
	r := b.round(e.kinds())
	if e.custom {
		if err := r.makeCustom(ctx); err != nil {
			return nil, err
		}
	}
	if e.many {
		if err := r.crowd(ctx); err != nil {
			return nil, err
		}
	}
	groups := [][]library{libraries}
	if e.many {
		groups = [][]library{libraries[:1], libraries[1:]}
	}
	var results []Result
	var errs []error
	for _, libs := range groups {
		got, err := b.beside(ctx, e, r, libs)
		results, errs = append(results, got...), append(errs, err)
	}
	if e.custom {
		errs = append(errs, r.dropCustom(ctx))
	}
	return results, errors.Join(errs...)
}

// beside starts libraries and causes the event Options.Rounds times.
func (b *bench) beside(ctx context.Context, e event, r *round, libs []library) (results []Result, err error) {
	r.lines = nil
	defer func() { err = errors.Join(err, r.stop()) }()
	for _, lib := range libs {
		if err := b.start(ctx, e, r, lib); err != nil {
			return nil, err
		}
		results = append(results, Result{Event: e.name, Library: r.lines[len(r.lines)-1].side.Name()})
	}
	var errs []error
	for i := range b.opts.Rounds {
		if err := sleep(ctx, b.opts.Quiet); err != nil {
			return results, err
		}
		err := r.once(ctx, e, results)
		if err != nil {
			errs = append(errs, fmt.Errorf("round %d: %w", i+1, err))
		}
		for _, res := range results {
			if n := len(res.Times); n > i {
				fmt.Fprintf(b.opts.Progress, "%s, %s, round %d: %v\n", e.name, res.Library, i+1, res.Times[n-1].Round(time.Millisecond))
			}
		}
		if err != nil && !errors.Is(err, beside.ErrLate) {
			break
		}
	}
	return results, errors.Join(errs...)
}

// start adds a library and waits for its initial lists.
func (b *bench) start(ctx context.Context, e event, r *round, lib library) error {
	p, err := proxy.New(strings.TrimPrefix(b.cluster.URL(), "https://"))
	if err != nil {
		return err
	}
	l := &line{proxy: p}
	opts := beside.Options{URL: "https://" + p.Addr(), CAFile: b.cluster.CAFile(), TokenFile: b.token, Count: e.crowd}
	if e.crowd {
		for i := range namespaces {
			opts.Namespaces = append(opts.Namespaces, oracle.NamespaceName(i))
		}
	}
	if l.side, err = lib(r.kinds, opts); err != nil {
		p.Close()
		return err
	}
	r.lines = append(r.lines, l)
	begin := time.Now()
	l.side.Start()
	ctx, cancel := context.WithTimeout(ctx, b.opts.Limit)
	defer cancel()
	if err := l.side.Await(ctx, beside.Cache.Synced); err != nil {
		return fmt.Errorf("initial lists: %w", err)
	}
	fmt.Fprintf(b.opts.Progress, "%s, %s: initial lists in %v\n", e.name, l.side.Name(), time.Since(begin).Round(time.Millisecond))
	return nil
}

func (r *round) stop() error {
	var errs []error
	for _, l := range r.lines {
		errs = append(errs, l.side.FalseAlarms(), l.side.Stop())
		l.proxy.Close()
	}
	return errors.Join(errs...)
}

// once runs one round. It adds a time to each of the results, which belong to the lines.
func (r *round) once(ctx context.Context, e event, results []Result) error {
	for _, l := range r.lines {
		l.requests, l.connections, l.decoding = l.side.Requests(), l.proxy.Accepted(), l.side.Decoding()
	}
	begin := time.Now()
	if err := e.happen(ctx, r); err != nil {
		return err
	}
	away := r.since.Sub(begin).Seconds()
	limited, cancel := context.WithTimeout(ctx, r.opts.Limit)
	defer cancel()
	errs := make([]error, len(r.lines))
	var wg sync.WaitGroup
	for i, l := range r.lines {
		if e.crowd {
			results[i].Requests = append(results[i].Requests, float64(l.side.Requests()-l.requests)/away)
			results[i].Connections = append(results[i].Connections, float64(l.proxy.Accepted()-l.connections)/away)
		}
		wg.Go(func() {
			errs[i] = l.side.Await(limited, r.reached)
			results[i].Times = append(results[i].Times, time.Since(r.since))
			if e.many && l.side.Name() == beside.KinformName {
				results[i].Decoding = append(results[i].Decoding, l.side.Decoding()-l.decoding)
			}
		})
	}
	wg.Wait()
	if e.many && r.lines[0].side.Name() == beside.KinformName {
		took, err := r.undecoded(ctx, r.kinds[0])
		if err != nil {
			return err
		}
		results[0].Undecoded = append(results[0].Undecoded, took)
	}
	for i, l := range r.lines {
		if errs[i] == nil {
			errs[i] = r.compare(ctx, l)
		}
		if errs[i] != nil && l.side.Name() != beside.KinformName {
			fmt.Fprintf(r.opts.Progress, "%s: %v\n", e.name, errs[i])
			errs[i] = nil
		}
	}
	return errors.Join(errs...)
}

// compare compares every cache of a library with the server's list.
func (r *round) compare(ctx context.Context, l *line) error {
	var errs []error
	for _, k := range r.kinds {
		items, _, err := oracle.List[metav1.PartialObjectMetadata](ctx, r.server, k.Path("", ""), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, c := range l.side.Caches() {
			if c.Kind().GVR == k.GVR {
				errs = append(errs, differ(l.side.Name(), c, items))
			}
		}
	}
	return errors.Join(errs...)
}

// differ returns an error if the cache differs from the server. It checks the namespaces of the
// test only, because the server itself writes to others.
func differ(library string, c beside.Cache, items []metav1.PartialObjectMetadata) error {
	cached := c.Versions()
	var wrong []string
	for i := range items {
		key := beside.Key{Namespace: items[i].Namespace, Name: items[i].Name}
		if c.Namespace() != "" && c.Namespace() != key.Namespace {
			continue
		}
		if got := cached[key]; ours(key) && got != items[i].ResourceVersion {
			wrong = append(wrong, fmt.Sprintf("%v has version %s, not %q", key, items[i].ResourceVersion, got))
		}
		delete(cached, key)
	}
	for key := range cached {
		if ours(key) {
			wrong = append(wrong, fmt.Sprintf("%v is not on the server", key))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	slices.Sort(wrong)
	return fmt.Errorf("%s: the cache of %s is wrong about %d objects: %s", library, c.Kind(), len(wrong), strings.Join(wrong[:min(5, len(wrong))], "; "))
}

func ours(key beside.Key) bool { return strings.HasPrefix(key.Namespace, "ns-") }
