package cluster

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestLockFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	unlock, err := lockFile(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := lockFile(ctx, name); !errors.Is(err, cause) {
		t.Fatalf("a locked file was locked again: %v", err)
	}
	got := make(chan error)
	go func() {
		unlock, err := lockFile(t.Context(), name)
		if err == nil {
			unlock()
		}
		got <- err
	}()
	unlock()
	if err := <-got; err != nil {
		t.Fatal(err)
	}
	if _, err := lockFile(t.Context(), "/nonexistent/lock"); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("lock in a directory that is missing: %v", err)
	}
}

func TestServerModule(t *testing.T) {
	dir, err := serverModule(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	// The flag for the version is in this package, the version in that module.
	version := ldflags[strings.LastIndex(ldflags, "=")+1:]
	if !strings.Contains(string(mod), "k8s.io/kubernetes "+version+" ") {
		t.Errorf("go.mod of the servers does not require version %s of kubernetes", version)
	}

	t.Chdir(t.TempDir())
	if _, err := serverModule(t.Context()); !errors.Is(err, ErrNoServerModule) {
		t.Errorf("outside of the workspace: %v, want ErrNoServerModule", err)
	}
}

func TestCachePlaceDependsOnContent(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	src := t.TempDir()
	seen := map[string]string{}
	for _, content := range []struct{ mod, sum string }{
		{"module m\n", ""}, {"module m\n", "x"}, {"module n\n", "x"},
	} {
		write(t, filepath.Join(src, "go.mod"), content.mod)
		write(t, filepath.Join(src, "go.sum"), content.sum)
		var dirs [2]string
		for i := range dirs {
			var err error
			if dirs[i], err = cachePlace(t.Context(), src); err != nil {
				t.Fatal(err)
			}
		}
		if dirs[0] != dirs[1] {
			t.Errorf("two places for one content: %s, %s", dirs[0], dirs[1])
		}
		if other, ok := seen[dirs[0]]; ok {
			t.Errorf("one place for %q and %q", other, content)
		}
		seen[dirs[0]] = content.mod + content.sum
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestBuildOne(t *testing.T) {
	src := t.TempDir()
	write(t, filepath.Join(src, "go.mod"), "module example.test\n\ngo 1.26\n")
	write(t, filepath.Join(src, "main.go"), "package main\n\nfunc main() {}\n")
	out := filepath.Join(src, "out")
	var progress strings.Builder
	for range 2 {
		if err := buildOne(t.Context(), &progress, src, out, "example.test"); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Count(progress.String(), "building example.test"); got != 1 {
		t.Errorf("built %d times, want once:\n%s", got, progress.String())
	}
	write(t, filepath.Join(src, "main.go"), "package main\n\nfunc main() { no }\n")
	err := buildOne(t.Context(), &progress, src, out+"2", "example.test")
	if err == nil || !strings.Contains(err.Error(), "undefined: no") {
		t.Errorf("error of a broken program: %v, want the compiler's", err)
	}
	if _, err := os.Stat(out + "2"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a failed build left its result: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := buildOne(ctx, &progress, src, out+"3", "example.test"); !errors.Is(err, context.Canceled) {
		t.Errorf("build with a context that has ended: %v", err)
	}
}

func TestFreePorts(t *testing.T) {
	ports, err := freePorts(20)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, port := range ports {
		if n, err := strconv.Atoi(port); err != nil || n < 20000 || n >= 32000 {
			t.Errorf("port %q is out of range", port)
		}
		if seen[port] {
			t.Errorf("port %s was given twice", port)
		}
		seen[port] = true
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			t.Errorf("port %s is not free: %v", port, err)
			continue
		}
		l.Close()
	}
}

func TestStartSkipsUnlessAsked(t *testing.T) {
	t.Setenv(Variable, "")
	var inner *testing.T
	t.Run("inner", func(t *testing.T) {
		inner = t
		Start(t, Options{})
		t.Error("Start returned")
	})
	if !inner.Skipped() {
		t.Error("Start did not skip the test")
	}
}
