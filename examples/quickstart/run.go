package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kinform/kinform/examples/quickstart/internal/live"
)

// run is the whole program after the command line.
func run(ctx context.Context, o options, stdout io.Writer) error {
	log := &journal{start: time.Now()}
	cl, err := connect(o, log.note)
	if err != nil {
		return err
	}
	defer cl.disconnect()
	return work(ctx, cl, log, o, stdout)
}

// work runs the controller on a cluster, and compares the caches with the server at the end.
func work(ctx context.Context, cl *cluster, log *journal, o options, stdout io.Writer) error {
	ctl := newSummarizer(cl.forPods, cl.forSummaries, cl.namespace, log.failed)
	m := &meter{cluster: cl, controller: ctl, log: log, total: o.runFor}

	// The controller outlives an interrupt, because its results are compared with the server.
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	g, background := errgroup.WithContext(background)
	g.Go(func() error { return ctl.Run(background) })
	if o.debug != "" {
		if err := serveDebug(background, g, ctl, o.debug, stdout); err != nil {
			stop()
			return errors.Join(err, g.Wait())
		}
	}

	var result verdict
	err := watch(ctx, background, m, newDisplay(stdout, o.plain))
	if err == nil {
		err = m.unsynced()
	}
	if err == nil {
		fmt.Fprintln(stdout, "\ncomparing the cache with the server")
		result, err = verify(background, m)
	}
	stop()
	if failed := g.Wait(); failed != nil {
		return failed
	}
	if err != nil {
		return err
	}
	if err := m.print(stdout); err != nil {
		return err
	}
	err = result.print(stdout)
	if _, last := log.failures(); err != nil && last != nil {
		err = fmt.Errorf("%w; the last error on the way was: %w", err, last)
	}
	return err
}

// watch keeps the cluster changing and shows the controller at work, until the time is
// over, ctx is done, or the controller, which works in background, has failed.
func watch(ctx, background context.Context, m *meter, d *display) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(background, cancel)()
	if m.total > 0 {
		ctx, cancel = context.WithTimeout(ctx, m.total)
		defer cancel()
	}
	g, ctx := errgroup.WithContext(ctx)
	if m.cluster.change != nil {
		g.Go(func() error { return m.cluster.change(ctx) })
	}
	g.Go(func() error { m.expect(ctx); return nil })
	g.Go(func() error { m.waitForSync(ctx); return nil })
	g.Go(func() error { return d.run(ctx, m) })
	return g.Wait()
}

// print writes a summary of the controller's work.
func (m *meter) print(w io.Writer) error {
	f := m.frame(time.Now())
	_, err := fmt.Fprintf(w, "%s events, %s reconciles, %s writes; %s lists, %s watches, %s errors on the way\n",
		live.Count(f.Events), live.Count(f.Reconciles), live.Count(f.Writes),
		live.Count(f.Lists), live.Count(f.Watches), live.Count(f.Errors))
	return err
}
