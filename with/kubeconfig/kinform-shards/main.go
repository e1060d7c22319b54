// Command kinform-shards shows who works on the keys of a controller that package shard divides,
// and checks that somebody works on each:
//
//	go run github.com/kinform/kinform/with/kubeconfig/kinform-shards -namespace prod websites.example.com
//
// It finds the cluster as kubectl does, and needs the verb list on leases of coordination.k8s.io
// in the namespace. It reads the Leases every second until all keys have an owner and every owner
// has renewed its Lease meanwhile. That usually takes some seconds, the RetryPeriod of the
// replicas. After -wait it gives up. Then it prints what it has read.
//
// The exit status is 0 if every key has an owner that works, 1 if not, and 2 if the Leases cannot
// be read or the flags are wrong. No key can have two owners: an assignment whose ranges overlap
// is not valid, and counts as missing.
//
// The times of moves are fencing numbers. Usually these are times, by the clock of the replica
// that wrote the assignment.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/shard"
	"github.com/kinform/kinform/with/kubeconfig"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// defaultWait is LeaseDuration and three RetryPeriods by default: after a fault, every key has an
// owner by then.
const defaultWait = shard.DefaultLeaseDuration + 3*shard.DefaultRetryPeriod

// run is the program. It returns the exit status.
func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	flags := flag.NewFlagSet("kinform-shards", flag.ContinueOnError)
	flags.SetOutput(errOut)
	path := flags.String("kubeconfig", "", "`path` of a kubeconfig, if it is not kubectl's")
	name := flags.String("context", "", "`name` of a context of the kubeconfig")
	namespace := flags.String("namespace", "", "`namespace` of the Leases, if it is not that of the context")
	wait := flags.Duration("wait", defaultWait, "`duration` that keys may be without an owner, and owners without a renewal")
	flags.Usage = func() {
		fmt.Fprintln(errOut, "usage: kinform-shards [flags] NAME\nNAME is shard.Options.Name of the replicas.")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil || flags.NArg() != 1 {
		if err == nil {
			flags.Usage()
		}
		return 2
	}
	cluster, err := kubeconfig.Load(kubeconfig.Options{Path: *path, Context: *name})
	if err == nil {
		defer cluster.Connection.HTTP.CloseIdleConnections()
		if *namespace == "" {
			*namespace = cluster.Namespace
		}
		var a *shard.Assignment
		a, err = check(ctx, cluster.Connection, *namespace, flags.Arg(0), *wait)
		switch {
		case a == nil:
		case len(a.Members)+len(a.Ranges) > 0:
			fmt.Fprint(out, render(a, time.Now()))
		case err != nil:
			err = fmt.Errorf("%w with the name %q in the namespace %q", err, flags.Arg(0), *namespace)
		}
	}
	switch {
	case err == nil:
		fmt.Fprintln(out, "every key has one owner, which works")
		return 0
	case errors.Is(err, shard.ErrUnowned):
		fmt.Fprintln(errOut, "kinform-shards:", err)
		return 1
	}
	fmt.Fprintln(errOut, "kinform-shards:", err)
	return 2
}

// check reads the assignment until all is well, or wait is over. It returns the newest one that it
// has read.
func check(ctx context.Context, server client.Connection, namespace, name string, wait time.Duration) (*shard.Assignment, error) {
	first, err := shard.Read(ctx, server, namespace, name)
	if err != nil {
		return nil, err
	}
	a, end := first, time.Now().Add(wait)
	for {
		if err = a.Check(); err == nil {
			err = a.CheckRenewed(first)
		}
		if err == nil || !time.Now().Before(end) {
			return a, err
		}
		select {
		case <-ctx.Done():
			return a, ctx.Err()
		case <-time.After(min(time.Second, time.Until(end))):
		}
		if a, err = shard.Read(ctx, server, namespace, name); err != nil {
			return nil, err
		}
	}
}
