// Command record stores the answers of a real API server: one file per response with its unchanged
// bytes, and an index.json that lists the requests. The tests of Kinform's decoders read them. So
// these tests see the output of a real server without running one. From the root of the repository:
//
//	go run ./e2e/cmd/record
//
// writes client/testdata anew. It builds etcd and kube-apiserver if they are not cached (some
// minutes), and then takes half a minute. Names and order are the same in every run. Versions,
// times and UIDs are not.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	out := flag.String("out", "client/testdata", "existing `directory` for the recordings")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *out, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

// run records everything and then replaces the recordings in dir. If anything fails, they stay
// unchanged.
func run(ctx context.Context, dir string, progress io.Writer) error {
	if info, err := os.Stat(dir); err != nil {
		return fmt.Errorf("%w; run it from the root of the repository, or see -out", err)
	} else if !info.IsDir() {
		return fmt.Errorf("%s is no directory", dir)
	}
	var tape tape
	if err := recordDefault(ctx, &tape, progress); err != nil {
		return err
	}
	if err := recordScarce(ctx, &tape, progress); err != nil {
		return err
	}
	if err := tape.save(dir); err != nil {
		return err
	}
	fmt.Fprintf(progress, "%d recordings in %s\n", len(tape.entries), dir)
	return nil
}
