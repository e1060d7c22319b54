// Command record stores what a real API server sends: one file per response with its bytes as they came, and an
// index.json that says what was asked. The tests of Kinform's decoders read them, so that they see the server's own
// output without a server. From the root of the repository:
//
//	go run ./e2e/cmd/record
//
// writes client/testdata anew. It builds etcd and kube-apiserver if they are not cached (some minutes), and takes half
// a minute then. Names and order are the same in every run; versions, times and UIDs are not.
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

// run records everything and then replaces the recordings in dir, which stay as they were if anything fails.
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
