// Command quickstart runs a small controller on a cluster and shows it at work. Where to
// look:
//
//	controller.go   the controller: two handles, an index, reconcile
//	summary.go      what it writes: one ConfigMap per node
//	cluster.go      where the pods come from: a server in memory, or a real cluster
//	run.go          starts all of it, shows it, stops it
//	debug.go        shows it in a browser, with -debug :8080
//	verify.go       compares the cache with the server in the end
//
// -h lists the flags.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second interrupt ends the program at once
	os.Exit(command(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// command is main without the process: it returns the exit status.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		help(stdout)
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "quickstart: %v\nTry -h.\n", err)
		return 2
	}
	if err := run(ctx, o, stdout); err != nil {
		fmt.Fprintf(stderr, "quickstart: %v\n", err)
		return 1
	}
	return 0
}
