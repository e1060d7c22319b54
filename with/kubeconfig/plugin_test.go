package kubeconfig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/kind"
)

// plugin is the status that a credential plugin prints.
type plugin string

// user is a kubeconfig's user, with a plugin that runs the lines before it prints.
func (p plugin) user(t *testing.T, before ...string) string {
	script := "#!/bin/sh\n" + strings.Join(before, "\n") +
		"\nprintf '%s' '" + `{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":` + string(p) + "}'\n"
	return fmt.Sprintf(`{exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: %q}}`, write(t, "cloud-login", script))
}

func TestPlugin(t *testing.T) {
	alone(t)
	s := newServer(t)
	c := load(t, Options{Path: write(t, "config", s.config(t, plugin(`{"token":"of-plugin"}`).user(t)))})
	if err := get(t, c.Connection); err != nil || s.header().Get("Authorization") != "Bearer of-plugin" {
		t.Errorf("%v, %v", s.header(), err)
	}
}

func TestPluginFails(t *testing.T) {
	alone(t)
	s := newServer(t)
	for name, c := range map[string]struct{ user, want string }{
		"fails":          {plugin(`{}`).user(t, "exit 7"), `cloud-login": getting credentials: exec: executable`},
		"prints no JSON": {plugin(`}`).user(t), `cloud-login": getting credentials: decoding`},
		"is not there":   {`{exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: no-such-plugin, installHint: brew install it}}`, "brew install it"},
	} {
		cluster := load(t, Options{Path: write(t, "config", s.config(t, c.user))})
		if err := get(t, cluster.Connection); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("a plugin that %s: %v, want %q in it", name, err, c.want)
		}
	}
}

// hanging is the path of a kubeconfig with a plugin that hangs, once the lines before that let it.
// goOn lets it go on.
func hanging(t *testing.T, s *server, before ...string) (path string, goOn func()) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	path = write(t, "config", s.config(t, plugin(`{"token":"late"}`).user(t, append(before, "read -r line <'"+pipe+"'")...)))
	return path, func() {
		f, err := os.OpenFile(pipe, os.O_RDWR, 0) // does not wait for the plugin, which may not have come so far
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }()
		if _, err := f.WriteString("go on\n"); err != nil {
			t.Fatal(err)
		}
	}
}

// getWithin gets an object over its own connection, with a time limit for the plugin.
func getWithin(ctx context.Context, t *testing.T, path string, limit time.Duration) error {
	t.Helper()
	c := load(t, Options{Path: path, PluginTimeout: limit})
	t.Cleanup(c.Connection.HTTP.CloseIdleConnections)
	r, err := client.New(c.Connection, kind.OfResource[*metav1.PartialObjectMetadata](schema.GroupVersionResource{Version: "v1", Resource: "pods"}), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Get(ctx, types.NamespacedName{Namespace: "prod", Name: "one"}, metav1.GetOptions{})
	return err
}

// checkPatience checks that a plugin that hangs holds up no request for longer than was said, nor
// than its context.
func checkPatience(t *testing.T, path string) {
	t.Helper()
	var late *PluginError
	err := getWithin(t.Context(), t, path, time.Millisecond)
	if !errors.As(err, &late) || late.After != time.Millisecond || !strings.Contains(err.Error(), "cloud-login") {
		t.Errorf("%v, want an error that names the plugin", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := getWithin(ctx, t, path, -1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want the context's error", err)
	}
}

func TestPluginHangs(t *testing.T) {
	alone(t)
	s := newServer(t)
	path, goOn := hanging(t, s)
	checkPatience(t, path)
	goOn() // it ends, and with it what waited; goleak sees whether it does
	if s.header() != nil {
		t.Error("a request was sent though it was given up")
	}
}

// The server no longer accepts what the plugin said first. Its second run then hangs.
func TestPluginHangsAfterRefusal(t *testing.T) {
	alone(t)
	s := newServer(t)
	first := filepath.Join(t.TempDir(), "first")
	path, goOn := hanging(t, s, "if mkdir "+first+"; then printf '%s' '"+`{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"old"}}`+"'; exit; fi")
	if err := getWithin(t.Context(), t, path, -1); err != nil {
		t.Fatal(err)
	}
	s.refuses.Store(true)
	checkPatience(t, path)
	goOn()
}
