//go:build e2e

// Command recovery prints how long Kinform and client-go take until their caches are right again
// after faults, as a table in Markdown. Package recovery says what is measured. From the root of
// the repository:
//
//	go run -tags e2e ./e2e/cmd/recovery
//	go run -tags e2e ./e2e/cmd/recovery -long
//
// The long form takes about 40 minutes and has the durations of docs/performance/faults.md. The
// servers are built if they are not cached.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"syscall"

	"k8s.io/klog/v2"

	"github.com/kinform/kinform/e2e/cluster"
	"github.com/kinform/kinform/e2e/recovery"
)

func main() {
	long := flag.Bool("long", false, "have the long form's durations and numbers where no flag says otherwise")
	only := flag.String("only", "", "have only events that match this `regexp`")
	var o recovery.Options
	flag.DurationVar(&o.Outage, "outage", 0, "how long a server is away")
	flag.DurationVar(&o.Hole, "hole", 0, "how long a server is silent")
	flag.DurationVar(&o.Quiet, "quiet", 0, "how old watches are when an event begins")
	flag.DurationVar(&o.Limit, "limit", 0, "how long a library may take in one round")
	flag.IntVar(&o.Rounds, "rounds", 0, "how often each event happens")
	flag.IntVar(&o.Objects, "objects", 0, "number of ConfigMaps to list again")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, fill(o, *long), *only); err != nil {
		fmt.Fprintln(os.Stderr, "recovery:", err)
		os.Exit(1)
	}
}

// fill takes the fields that are zero in o from the short or the long form.
func fill(o recovery.Options, long bool) recovery.Options {
	all := recovery.Short()
	if long {
		all = recovery.Long()
	}
	set(&all.Outage, o.Outage)
	set(&all.Hole, o.Hole)
	set(&all.Quiet, o.Quiet)
	set(&all.Limit, o.Limit)
	set(&all.Rounds, o.Rounds)
	set(&all.Objects, o.Objects)
	return all
}

func set[T comparable](field *T, value T) {
	if value != *new(T) {
		*field = value
	}
}

func run(ctx context.Context, opts recovery.Options, only string) (err error) {
	if only != "" {
		if opts.Only, err = regexp.Compile(only); err != nil {
			return err
		}
	}
	klog.LogToStderr(false) // client-go logs each failure
	klog.SetOutput(io.Discard)
	opts.Progress = os.Stderr
	c, err := cluster.New(ctx, cluster.Options{Progress: os.Stderr})
	if err != nil {
		return err
	}
	results, err := recovery.Run(ctx, c, opts)
	return errors.Join(recovery.Write(os.Stdout, results), err, c.Close())
}
