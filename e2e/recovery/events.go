//go:build e2e

package recovery

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/kinform/kinform/e2e/beside"
	"github.com/kinform/kinform/e2e/oracle"
	"github.com/kinform/kinform/e2e/proxy"
)

// event is a row of the table.
type event struct {
	name string
	// happen causes the event and returns when the server is reachable and right. It writes the
	// markers before that.
	happen func(ctx context.Context, r *round) error
	custom bool // the informers are of ten custom resources
	many   bool // there are Options.Objects ConfigMaps, and each library runs alone
	crowd  bool // there are 100 informers and requests are counted
}

func events(o Options) []event {
	return []event{
		{name: "connections end with FIN", happen: cut(proxy.FIN)},
		{name: "connections end with RST", happen: cut(proxy.RST)},
		{name: fmt.Sprintf("%v of resets by a proxy, then API restart", o.Outage), happen: resets},
		{name: fmt.Sprintf("%v black hole, then API restart", o.Hole), happen: hole},
		{name: fmt.Sprintf("%v of refused connections", o.Outage), happen: refused},
		{name: fmt.Sprintf("410 with %d objects after an unseen gap", o.Objects), happen: expired, many: true},
		{name: "custom resource replaced unseen", happen: replacedUnseen, custom: true},
		{name: fmt.Sprintf("custom resource away for %v, then replaced", o.Outage), happen: replaced, custom: true},
		{name: fmt.Sprintf("rights taken for %v, then granted again", o.Outage), happen: rights},
		{name: fmt.Sprintf("100 informers, %v of resets", o.Outage), happen: dying(proxy.Fault{End: proxy.RST}), crowd: true},
		{name: fmt.Sprintf("100 informers, %v of refused connections", o.Outage), happen: refused, crowd: true},
	}
}

// cut ends the connections while the server is healthy. Changes just before the cut do not come
// through these connections.
func cut(how proxy.End) func(context.Context, *round) error {
	return func(ctx context.Context, r *round) error {
		r.set(proxy.Fault{Swallow: true})
		if err := r.mark(ctx); err != nil {
			return err
		}
		r.right()
		for _, l := range r.lines {
			l.proxy.Cut(how)
			l.proxy.Set(proxy.Fault{})
		}
		return nil
	}
}

func resets(ctx context.Context, r *round) error {
	r.set(proxy.Fault{End: proxy.RST})
	return r.restartAfter(ctx, r.opts.Outage)
}

func hole(ctx context.Context, r *round) error {
	r.set(proxy.Fault{Swallow: true})
	return r.restartAfter(ctx, r.opts.Hole)
}

// restartAfter waits for the outage, makes the proxies forward again, and restarts the API server.
func (r *round) restartAfter(ctx context.Context, outage time.Duration) error {
	if err := r.mark(ctx); err != nil {
		return err
	}
	if err := sleep(ctx, outage); err != nil {
		return err
	}
	r.set(proxy.Fault{})
	if err := r.cluster.APIServer.Restart(ctx); err != nil {
		return err
	}
	r.right()
	return nil
}

func refused(ctx context.Context, r *round) error {
	r.refuse()
	if err := r.mark(ctx); err != nil {
		return err
	}
	if err := sleep(ctx, r.opts.Outage); err != nil {
		return err
	}
	return r.listen()
}

// dying sets a fault for the time of an outage.
func dying(f proxy.Fault) func(context.Context, *round) error {
	return func(ctx context.Context, r *round) error {
		r.set(f)
		if err := r.mark(ctx); err != nil {
			return err
		}
		if err := sleep(ctx, r.opts.Outage); err != nil {
			return err
		}
		r.right()
		r.set(proxy.Fault{})
		return nil
	}
}

// expired makes the server lose the history of a gap, both in etcd and in its own cache.
func expired(ctx context.Context, r *round) error {
	r.refuse()
	const unseen = 300
	configMaps := r.kinds[0]
	err := oracle.Each(ctx, unseen, 0, func(ctx context.Context, i int) error {
		return r.touch(ctx, configMaps, name(i))
	})
	if err != nil {
		return err
	}
	if err := r.mark(ctx); err != nil {
		return err
	}
	if err := r.cluster.Compact(ctx, r.newest()); err != nil {
		return err
	}
	if err := r.cluster.APIServer.Restart(ctx); err != nil {
		return err
	}
	return r.listen()
}

// replacedUnseen deletes the custom resource and creates it again, with other objects, while
// connections are refused.
func replacedUnseen(ctx context.Context, r *round) error {
	r.refuse()
	if err := r.dropCustom(ctx); err != nil {
		return err
	}
	if err := r.makeCustom(ctx); err != nil {
		return err
	}
	return r.listen()
}

// replaced does the same while the informers can see it.
func replaced(ctx context.Context, r *round) error {
	if err := r.dropCustom(ctx); err != nil {
		return err
	}
	if err := sleep(ctx, r.opts.Outage); err != nil {
		return err
	}
	if err := r.makeCustom(ctx); err != nil {
		return err
	}
	r.right()
	return nil
}

// anything is a path that the informers' user requests to see whether the server answers.
const anything = "/api/v1/configmaps?limit=1"

// rights takes away the right to read from the informers' user, ends the watches, and gives the
// right back.
func rights(ctx context.Context, r *round) error {
	r.set(proxy.Fault{Swallow: true})
	if err := oracle.RevokeReading(ctx, r.server, user); err != nil {
		return err
	}
	if err := r.guest.Answers(ctx, anything, http.StatusForbidden); err != nil {
		return err
	}
	if err := r.mark(ctx); err != nil {
		return err
	}
	for _, l := range r.lines {
		l.proxy.Cut(proxy.FIN)
	}
	r.set(proxy.Fault{})
	if err := sleep(ctx, r.opts.Outage); err != nil {
		return err
	}
	if err := oracle.GrantReading(ctx, r.server, user); err != nil {
		return err
	}
	if err := r.guest.Answers(ctx, anything, http.StatusOK); err != nil {
		return err
	}
	r.right()
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// kindsOf returns the kinds of an event.
func (e event) kinds() []beside.Kind {
	if e.custom {
		return customKinds()
	}
	return beside.BuiltIn()
}
