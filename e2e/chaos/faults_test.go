//go:build e2e

package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/e2e/beside"
	"github.com/kinform/kinform/e2e/cluster"
	"github.com/kinform/kinform/e2e/oracle"
	"github.com/kinform/kinform/e2e/proxy"
)

// fault is something that breaks.
type fault struct {
	name string
	// do breaks it, mends it after about the time given, and returns when the server is reachable
	// and right.
	do func(ctx context.Context, c *chaos, length time.Duration) error
}

func allFaults() []fault {
	return []fault{
		{"connections cut by FIN", cut(proxy.FIN)},
		{"connections cut by RST", cut(proxy.RST)},
		{"reset in mid-body", ends(proxy.RST)},
		{"truncated", ends(proxy.FIN)},
		{"connections reset at once", network(proxy.Fault{End: proxy.RST})},
		{"connections refused", refused},
		{"black hole", network(proxy.Fault{Swallow: true})},
		{"trickle", network(proxy.Fault{Piece: 200, Delay: 5 * time.Millisecond})},
		{"delay", network(proxy.Fault{Delay: 150 * time.Millisecond})},
		{"SIGKILL of kube-apiserver", killed(func(c *cluster.Cluster) []*cluster.Process { return []*cluster.Process{c.APIServer} })},
		{"SIGKILL of etcd", killed(func(c *cluster.Cluster) []*cluster.Process { return []*cluster.Process{c.Etcd} })},
		{"SIGKILL of both", killed(func(c *cluster.Cluster) []*cluster.Process { return []*cluster.Process{c.Etcd, c.APIServer} })},
		{"SIGSTOP of kube-apiserver", stopped(func(c *cluster.Cluster) *cluster.Process { return c.APIServer })},
		{"SIGSTOP of etcd", stopped(func(c *cluster.Cluster) *cluster.Process { return c.Etcd })},
		{"compaction unseen", compacted(false)},
		{"compaction and restart unseen", compacted(true)},
		{"serving certificate replaced", certificate},
		{"authority replaced", authority},
		{"token replaced", token},
		{"server without watch cache", flags("--watch-cache=false")},
		{"server without streaming lists", flags("--feature-gates=WatchList=false")},
		{"server with short watches", flags("--min-request-timeout=2")},
		{"server that sends clients away", flags("--goaway-chance=0.02")},
		{"rights taken", rights},
		{"right to watch taken", watching},
		{"another default of a definition", defined(func(now *contents, n int) { now.grade = fmt.Sprint("grade-", n) })},
		{"another conversion of a definition", defined(func(now *contents, n int) { now.shade = fmt.Sprint("shade-", n) })},
		{"429 by priority and fairness", tooMany},
	}
}

func cut(how proxy.End) func(context.Context, *chaos, time.Duration) error {
	return func(_ context.Context, c *chaos, _ time.Duration) error {
		for _, l := range c.lanes {
			l.proxy.Cut(how)
		}
		return nil
	}
}

// network has the proxies do f for a time.
func network(f proxy.Fault) func(context.Context, *chaos, time.Duration) error {
	return func(ctx context.Context, c *chaos, length time.Duration) error {
		c.set(f)
		defer c.set(proxy.Fault{})
		return sleep(ctx, length)
	}
}

// ends has each connection end after some thousand bytes from the server.
func ends(how proxy.End) func(context.Context, *chaos, time.Duration) error {
	return func(ctx context.Context, c *chaos, length time.Duration) error {
		return network(proxy.Fault{End: how, After: 1 + c.random.Int64N(60_000)})(ctx, c, length)
	}
}

func refused(ctx context.Context, c *chaos, length time.Duration) error {
	c.refuse()
	return errors.Join(sleep(ctx, length), c.listen())
}

// killed has servers end by SIGKILL, and start again in the order given.
func killed(which func(*cluster.Cluster) []*cluster.Process) func(context.Context, *chaos, time.Duration) error {
	return func(ctx context.Context, c *chaos, length time.Duration) error {
		for _, p := range which(c.world.cluster) {
			p.Kill()
		}
		if err := sleep(ctx, length); err != nil {
			return err
		}
		for _, p := range which(c.world.cluster) {
			if err := p.Start(ctx); err != nil {
				return err
			}
		}
		return c.ready(ctx)
	}
}

// stopped has a server stand still.
func stopped(which func(*cluster.Cluster) *cluster.Process) func(context.Context, *chaos, time.Duration) error {
	return func(ctx context.Context, c *chaos, length time.Duration) error {
		pid := which(c.world.cluster).PID()
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			return fmt.Errorf("SIGSTOP: %w", err)
		}
		err := sleep(ctx, length)
		if e := syscall.Kill(pid, syscall.SIGCONT); e != nil {
			return fmt.Errorf("SIGCONT: %w", e)
		}
		return errors.Join(err, c.ready(ctx))
	}
}

// compacted has etcd forget what was written while connections were refused, and the API server too
// if it restarts.
func compacted(restart bool) func(context.Context, *chaos, time.Duration) error {
	return func(ctx context.Context, c *chaos, length time.Duration) error {
		c.refuse()
		err := func() error {
			if err := sleep(ctx, length); err != nil {
				return err
			}
			_, rv, err := oracle.List[metav1.PartialObjectMetadata](ctx, c.world.server, secrets.Path("", ""), metav1.ListOptions{Limit: 1})
			if err != nil {
				return err
			}
			if err := c.world.cluster.Compact(ctx, rv); err != nil {
				return err
			}
			if restart {
				return c.restart(ctx)
			}
			return nil
		}()
		return errors.Join(err, c.listen())
	}
}

func certificate(ctx context.Context, c *chaos, _ time.Duration) error {
	if err := c.world.certify(); err != nil {
		return err
	}
	return c.restart(ctx)
}

// authority has another authority sign the server's certificate, and tells the clients so only
// after a time.
func authority(ctx context.Context, c *chaos, length time.Duration) error {
	w := c.world
	w.authorities[0], w.authorities[1] = w.authorities[1], w.authorities[0]
	if err := certificate(ctx, c, 0); err != nil {
		return err
	}
	if err := sleep(ctx, length); err != nil {
		return err
	}
	return write(w.file("ca.crt"), w.authorities[0].PEM())
}

// token has the server accept another token only, and tells the clients so after a time.
func token(ctx context.Context, c *chaos, length time.Duration) error {
	w := c.world
	w.token++
	if err := w.allow(); err != nil {
		return err
	}
	if err := c.restart(ctx); err != nil {
		return err
	}
	if err := sleep(ctx, length); err != nil {
		return err
	}
	return write(w.file("token"), []byte(w.bearer()))
}

// flags restarts the API server with a flag, which it keeps until a later fault of the same type.
func flags(more ...string) func(context.Context, *chaos, time.Duration) error {
	return func(ctx context.Context, c *chaos, _ time.Duration) error {
		c.world.cluster.APIServer.SetExtraArgs(c.world.flags(more...)...)
		c.away = strings.HasPrefix(more[0], "--goaway-chance")
		return c.restart(ctx)
	}
}

// rights takes the informers' right to read, ends their watches, and gives it back.
func rights(ctx context.Context, c *chaos, length time.Duration) error {
	if err := oracle.RevokeReading(ctx, c.world.server, user); err != nil {
		return err
	}
	if err := c.answers(ctx, one, http.StatusForbidden); err != nil {
		return err
	}
	_ = cut(proxy.RST)(ctx, c, 0)
	if err := sleep(ctx, length); err != nil {
		return err
	}
	if err := oracle.GrantReading(ctx, c.world.server, user); err != nil {
		return err
	}
	return c.answers(ctx, one, http.StatusOK)
}

// watching takes the right to watch, ends the watches, and gives it back. In each second round of a
// long run the caches have to live by lists meanwhile.
func watching(ctx context.Context, c *chaos, length time.Duration) error {
	const watch = "?watch=true&timeoutSeconds=1"
	if err := oracle.LimitReading(ctx, c.world.server, user, "get", "list"); err != nil {
		return err
	}
	if err := c.answers(ctx, watch, http.StatusForbidden); err != nil {
		return err
	}
	_ = cut(proxy.RST)(ctx, c, 0)
	follow := func(ctx context.Context) error { return sleep(ctx, length) }
	if *chaosOutage >= 10*time.Second && c.random.IntN(2) == 0 {
		follow = c.byLists
	}
	if err := follow(ctx); err != nil {
		return err
	}
	if err := oracle.LimitReading(ctx, c.world.server, user, "get", "list", "watch"); err != nil {
		return err
	}
	return c.answers(ctx, watch, http.StatusOK)
}

// byLists waits until Kinform says that its caches live by lists. Then a list has to bring what is
// written, within twice the time between two lists.
func (c *chaos) byLists(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, *chaosLimit)
	defer cancel()
	for _, cache := range c.caches {
		err := oracle.Until(ctx, func() error {
			if !cache.polls() {
				return fmt.Errorf("%w: does not say that it lives by lists: %s", errWrong, cache.Why())
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	times, err := c.right(ctx, time.Now())
	c.t.Logf("by lists: right after %v", times)
	c.listed = append(c.listed, times)
	if err == nil && times[0] > time.Minute {
		err = fmt.Errorf("%w: right only after %v by lists", errWrong, times[0])
	}
	return err
}

// defined changes what gadgets have, and their definition. It returns when the caches have it.
func defined(change func(now *contents, n int)) func(context.Context, *chaos, time.Duration) error {
	return func(ctx context.Context, c *chaos, _ time.Duration) error {
		w := c.world
		w.changes++
		change(&w.now, w.changes)
		excuse := c.excuse()
		if err := w.server.Do(ctx, http.MethodPatch, definitionPath, map[string]any{"spec": w.now.definition(w.hook)["spec"]}, nil); err != nil {
			return err
		}
		for _, k := range []beside.Kind{gadgets, gadgetsV2} {
			if err := oracle.Until(ctx, func() error { return w.shows(ctx, k) }); err != nil {
				return err
			}
		}
		return c.arrive(ctx, excuse)
	}
}

// excuse says why new contents at old versions may not come now. Package reflector has five lists for
// them, and gives one up if the watch's connection takes no more requests.
func (c *chaos) excuse() string {
	for _, cache := range c.caches {
		if n := cache.renewed(); n >= 5 {
			return fmt.Sprint(n, " watches have ended early before")
		}
	}
	if c.away {
		return "the server sends clients away"
	}
	return ""
}

// contentsArrive is how long new contents at old versions may take on a busy machine.
const contentsArrive = 30 * time.Second

// arrive waits until Kinform has the contents that gadgets have now. If they do not come, the informers
// run anew, which brings them. It is an error if there is no excuse.
func (c *chaos) arrive(ctx context.Context, excuse string) error {
	limit := contentsArrive
	if excuse != "" {
		limit = 5 * time.Second
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	began, side := time.Now(), c.lanes[0].side
	err := side.Await(limited, func(cache beside.Cache) bool { return cache.(checkedCache).current() })
	if err == nil {
		c.arrived = append(c.arrived, time.Since(began))
		return nil
	}
	c.anew++
	if err := side.Stop(); err != nil {
		return err
	}
	side.Start()
	if excuse == "" {
		return fmt.Errorf("%w: contents are old: %w", errWrong, err)
	}
	c.t.Logf("contents were old until another Run, because %s", excuse)
	return nil
}

// shows returns an error unless the server lists gadgets as they are now.
func (w *world) shows(ctx context.Context, k beside.Kind) error {
	all, _, err := oracle.List[gadget](ctx, w.server, k.Path("", ""), metav1.ListOptions{})
	for _, g := range all {
		if !w.now.in(k.GVR.Version, &g) {
			return fmt.Errorf("%s in %s: %+v, want %+v", g.Name, k, g.Spec, w.now)
		}
	}
	return err
}

// tooMany leaves no seat, or one, to the requests of the informers, and ends their watches.
func tooMany(ctx context.Context, c *chaos, length time.Duration) error {
	share := c.random.IntN(2)
	if err := oracle.Throttle(ctx, c.world.server, user, share); err != nil {
		return err
	}
	_ = cut(proxy.RST)(ctx, c, 0)
	if err := sleep(ctx, length); err != nil {
		return err
	}
	if err := oracle.Unthrottle(ctx, c.world.server, user); err != nil {
		return err
	}
	return c.answers(ctx, one, http.StatusOK)
}

func (c *chaos) set(f proxy.Fault) {
	for _, l := range c.lanes {
		l.proxy.Set(f)
	}
}

func (c *chaos) refuse() {
	for _, l := range c.lanes {
		l.proxy.Refuse()
	}
}

func (c *chaos) listen() error {
	var errs []error
	for _, l := range c.lanes {
		errs = append(errs, l.proxy.Listen())
	}
	return errors.Join(errs...)
}

// restart ends the API server in order, or not, and starts it again.
func (c *chaos) restart(ctx context.Context) error {
	if c.random.IntN(2) == 0 {
		c.world.cluster.APIServer.Kill()
	}
	if err := c.world.cluster.APIServer.Restart(ctx); err != nil {
		return err
	}
	return c.ready(ctx)
}

// ready waits until the API server calls itself ready and serves the custom resource.
func (c *chaos) ready(ctx context.Context) error {
	return oracle.Until(ctx, func() error {
		if err := c.world.server.Do(ctx, http.MethodGet, "/readyz", nil, nil); err != nil {
			return err
		}
		_, _, err := oracle.List[metav1.PartialObjectMetadata](ctx, c.world.server, gadgets.Path("", ""), metav1.ListOptions{Limit: 1})
		return err
	})
}

// one is the query of a list of one object.
const one = "?limit=1"

// answers waits until the server answers a list or watch of the informers' user with that code.
func (c *chaos) answers(ctx context.Context, query string, code int) error {
	w := c.world
	informer := &oracle.Client{URL: w.server.URL, HTTP: w.cluster.HTTPClientAs(w.bearer())}
	return informer.Answers(ctx, secrets.Path("", "")+query, code)
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// upTo returns a time of at most d and at least a tenth of it.
func upTo(random *rand.Rand, d time.Duration) time.Duration {
	return d/10 + time.Duration(random.Int64N(int64(d-d/10)+1))
}
