package cluster

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The test binary is also the program that the tests of Process run: with "fake-server" as its
// first argument it is a small server, which makes them quick and independent of the real ones.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "fake-server" {
		fakeServer(os.Args[2], os.Args[3])
	}
	if len(os.Args) == 4 && os.Args[1] == "fake-parent" {
		fakeParent(os.Args[2], os.Args[3])
	}
	goleak.VerifyTestMain(m)
}

// fakeParent runs a fake server as a Process, says so on its output, and waits to be killed.
func fakeParent(addr, logPath string) {
	p := &Process{
		name: "fake", path: os.Args[0], args: []string{"fake-server", "deaf", addr}, logPath: logPath,
		ready: func(ctx context.Context) error {
			_, err := ask(ctx, http.DefaultClient, http.MethodGet, "http://"+addr, nil)
			return err
		},
	}
	fmt.Println("started:", p.Start(context.Background()))
	time.Sleep(time.Hour)
}

// fakeServer answers at addr until it gets a signal. In mode "fails" it ends at once, "deaf"
// ignores SIGTERM, "unready" does not listen.
func fakeServer(mode, addr string) {
	fmt.Fprintf(os.Stderr, "fake server in mode %s\n", mode)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	switch mode {
	case "fails":
		os.Exit(3)
	case "deaf", "serves":
		go func() {
			_ = http.ListenAndServe(addr, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/exit" {
					os.Exit(4)
				}
			}))
			os.Exit(5)
		}()
	}
	for range stop {
		if mode != "deaf" {
			os.Exit(0)
		}
	}
	time.Sleep(time.Hour)
}
