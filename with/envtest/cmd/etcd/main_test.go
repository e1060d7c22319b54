package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestIsHealthyUntilStopped(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, []string{"--listen-client-urls=" + url, "--advertise-client-urls=" + url, "--data-dir=" + t.TempDir(), "--unsafe-no-fsync=true", "--listen-peer-urls=http://127.0.0.1:0"}, io.Discard)
	}()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for {
		resp, err := client.Get(url + "/health")
		if err != nil {
			select {
			case err := <-ended:
				t.Fatal(err)
			case <-time.After(time.Millisecond):
				continue
			}
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != 200 || !strings.Contains(string(body), `"health":"true"`) {
			t.Errorf("%d %s %v", resp.StatusCode, body, err)
		}
		break
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("stop: %v", err)
	}
}

func TestBadCommandLines(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	for _, c := range []struct{ args, want string }{
		{"--nope", "unknown flag: --nope"},
		{"--listen-client-urls=unix:///tmp/x", "want http://HOST:PORT"},
		{"--listen-client-urls=http://" + l.Addr().String(), "address already in use"},
		{"pos", "does not take any arguments"},
	} {
		if err := run(context.Background(), strings.Fields(c.args), io.Discard); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.args, err, c.want)
		}
	}
	var out bytes.Buffer
	if err := run(context.Background(), []string{"--help"}, &out); err != nil || !regexp.MustCompile(`(?m)^\s*--unsafe-no-fsync\b`).Match(out.Bytes()) {
		t.Errorf("--help: %v %s", err, &out)
	}
}
