package main

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/shard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const namespace, name = "prod", "websites"

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newServer(t *testing.T) *fake.Server {
	t.Helper()
	server := fake.New(fake.Options{})
	must(t, fake.Register(server, shard.Kind, fake.Rules{}))
	return server
}

// start starts a replica without keys. cut cuts it off from the server.
func start(t *testing.T, server *fake.Server, opts shard.Options) (stop, cut func()) {
	t.Helper()
	h := server.Client()
	gate := &cuttable{to: h.Transport, cut: make(chan struct{})}
	h.Transport = gate
	opts.Namespace, opts.Name, opts.OnError = namespace, name, func(error) {}
	r, err := shard.New(client.Connection{URL: fake.URL, HTTP: h}, opts)
	must(t, err)
	_, err = shard.Divide(r, shard.Keys[string]{
		Hashed: strings.Clone, Add: func(string) {}, All: func() iter.Seq[string] { return func(func(string) bool) {} },
	}, func(context.Context, string) error { return nil })
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	stop = func() {
		cancel()
		must(t, <-ended)
	}
	return stop, func() { close(gate.cut) }
}

// cuttable is a transport whose requests get no answer once cut is closed.
type cuttable struct {
	to  http.RoundTripper
	cut chan struct{}
}

func (c *cuttable) RoundTrip(req *http.Request) (*http.Response, error) {
	select {
	case <-c.cut:
		<-req.Context().Done()
		return nil, req.Context().Err()
	default:
		return c.to.RoundTrip(req)
	}
}

func TestCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		conn := client.Connection{URL: fake.URL, HTTP: server.Client()}
		expect := func(when string, wait time.Duration, want string) *shard.Assignment {
			t.Helper()
			a, err := check(t.Context(), conn, namespace, name, wait)
			if text := fmt.Sprint(err); a == nil || !strings.Contains(text, want) || (want == "<nil>") != (err == nil) {
				t.Errorf("%s: %v, want %q", when, err, want)
			}
			return a
		}
		expect("nothing is there", 0, "no replica runs")
		stopA, _ := start(t, server, shard.Options{Identity: "a"})
		stopB, cutB := start(t, server, shard.Options{Identity: "b\x1b[31m"})
		expect("it waits for the first assignment", time.Minute, "<nil>")
		time.Sleep(time.Minute) // ranges have moved to both
		a := expect("both work", time.Minute, "<nil>")
		text := render(a, time.Now())
		for _, want := range []string{"REPLICA", "b?[31m", "50.0%", "FIRST HASH", "0000000000000000", "ffffffffffffffff", "1m"} {
			if !strings.Contains(text, want) || strings.Contains(text, "\x1b") {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
		defer stopB()
		cutB()
		synctest.Wait()
		begun := time.Now()
		expect("b has died, and nobody knows yet", 5*time.Second, "has not renewed its Lease")
		expect("a has all", time.Minute, "<nil>")
		if took := time.Since(begun); took > defaultWait {
			t.Errorf("it took %v", took)
		}
		stopA()
		a = expect("a has left", 2*time.Second, "which has stopped")
		if text := render(a, time.Now()); !strings.Contains(text, "has stopped") {
			t.Error(text)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := check(ctx, conn, namespace, name, time.Minute); err == nil {
			t.Error("it does not end with its context")
		}
	})
}

// TestRun: the exit status, with a kubeconfig.
func TestRun(t *testing.T) {
	objects := newServer(t)
	server := httptest.NewServer(objects)
	defer server.Close()
	path := filepath.Join(t.TempDir(), "config")
	must(t, os.WriteFile(path, fmt.Appendf(nil, `{apiVersion: v1, kind: Config, current-context: a, users: [{name: u, user: {}}],
contexts: [{name: a, context: {cluster: c, user: u, namespace: prod}}], clusters: [{name: c, cluster: {server: %q}}]}`, server.URL), 0o600))
	for _, c := range []struct {
		args   []string
		status int
		text   string
	}{
		{[]string{}, 2, "usage"},
		{[]string{"-bad"}, 2, "usage"},
		{[]string{"-kubeconfig", path + ".none", name}, 2, "kinform-shards: "},
		{[]string{"-kubeconfig", path, "-wait", "0s", name}, 1, `no replica runs with the name "websites" in the namespace "prod"`},
		{[]string{"-kubeconfig", path, "-namespace", "a/b", name}, 2, "kinform-shards: "},
	} {
		var out, errOut bytes.Buffer
		if status := run(t.Context(), c.args, &out, &errOut); status != c.status || !strings.Contains(errOut.String(), c.text) {
			t.Errorf("%q: status %d, %s%s", c.args, status, &out, &errOut)
		}
		if out.Len() > 0 {
			t.Errorf("%q: empty tables: %s", c.args, &out)
		}
	}
	stop, _ := start(t, objects, shard.Options{LeaseDuration: 1500 * time.Millisecond, RenewDeadline: time.Second, RetryPeriod: 200 * time.Millisecond})
	defer stop()
	var out, errOut bytes.Buffer
	if status := run(t.Context(), []string{"-kubeconfig", path, "-wait", "5m", name}, &out, &errOut); status != 0 || !strings.Contains(out.String(), "one owner, which works") {
		t.Errorf("status %d, %s%s", status, &out, &errOut)
	}
}
