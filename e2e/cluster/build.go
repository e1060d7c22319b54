package cluster

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// modulePath is the module that this package belongs to; the server module is a directory of it.
const modulePath = "github.com/kinform/kinform/e2e"

// Without a version in gitVersion the server reports v0.0.0-master, which its own version checks
// reject.
const ldflags = "-s -w -X k8s.io/component-base/version.gitVersion=v1.37.1"

// Binaries holds the paths of the two server programs.
type Binaries struct {
	Etcd      string
	APIServer string
}

// Build returns the server programs, compiling them with the go command first if they are not in
// the user's cache directory yet. The place in the cache is a hash of the server module's go.mod
// and go.sum, of the Go version and of the platform, so that a change of any of them builds anew.
// Old places are not removed.
//
// A cold build takes minutes of all cores and reports what it does on progress. Concurrent calls,
// in this process and in others, wait for each other instead of doing the work twice. When ctx ends
// first, the part that was compiled stays in the go command's own cache.
func Build(ctx context.Context, progress io.Writer) (Binaries, error) {
	src, err := serverModule(ctx)
	if err != nil {
		return Binaries{}, err
	}
	dir, err := cachePlace(ctx, src)
	if err != nil {
		return Binaries{}, err
	}
	unlock, err := lockFile(ctx, filepath.Join(dir, "lock"))
	if err != nil {
		return Binaries{}, fmt.Errorf("waiting for another build of the servers: %w", err)
	}
	defer unlock()

	bin := Binaries{Etcd: filepath.Join(dir, "etcd"), APIServer: filepath.Join(dir, "kube-apiserver")}
	if err := buildOne(ctx, progress, src, bin.Etcd, "go.etcd.io/etcd/server/v3"); err != nil {
		return Binaries{}, err
	}
	if err := buildOne(ctx, progress, src, bin.APIServer, "k8s.io/kubernetes/cmd/kube-apiserver"); err != nil {
		return Binaries{}, err
	}
	return bin, nil
}

// Kubectl returns the path of kubectl of the same release, compiled and kept as the servers are.
func Kubectl(ctx context.Context, progress io.Writer) (string, error) {
	src, err := serverModule(ctx)
	if err != nil {
		return "", err
	}
	dir, err := cachePlace(ctx, src)
	if err != nil {
		return "", err
	}
	unlock, err := lockFile(ctx, filepath.Join(dir, "lock"))
	if err != nil {
		return "", fmt.Errorf("waiting for another build of the servers: %w", err)
	}
	defer unlock()
	out := filepath.Join(dir, "kubectl")
	return out, buildOne(ctx, progress, src, out, "k8s.io/kubernetes/cmd/kubectl")
}

// serverModule returns the directory of the server module. It asks the go command, because the
// tests' sources may have been compiled with -trimpath and the working directory may be any
// package's.
func serverModule(ctx context.Context) (string, error) {
	out, err := goCommand(ctx, "", "list", "-m", "-f", "{{.Dir}}", modulePath)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoServerModule, err)
	}
	dir := filepath.Join(strings.TrimSpace(out), "server")
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoServerModule, err)
	}
	return dir, nil
}

// cachePlace creates and returns the cache directory for programs built from the module in
// src.
func cachePlace(ctx context.Context, src string) (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no place for the servers: %w", err)
	}
	version, err := goCommand(ctx, src, "env", "GOVERSION", "GOOS", "GOARCH")
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\n%s\n", version, ldflags)
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(src, name))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%s %d\n%s", name, len(data), data)
	}
	dir := filepath.Join(base, "kinform-e2e", hex.EncodeToString(sum.Sum(nil)[:8]))
	return dir, os.MkdirAll(dir, 0o755)
}

// buildOne compiles pkg into out unless out exists. The result appears under its name only when it
// is complete. The caller holds the lock of the directory.
func buildOne(ctx context.Context, progress io.Writer, src, out, pkg string) error {
	if _, err := os.Stat(out); err == nil {
		return nil
	}
	fmt.Fprintf(progress, "building %s; some minutes if the build cache is cold\n", pkg)
	begin := time.Now()
	partial := out + ".partial"
	_, err := goCommand(ctx, src, "build", "-mod=readonly", "-race=false", "-ldflags="+ldflags, "-o", partial, pkg)
	if err != nil {
		return fmt.Errorf("building %s: %w", pkg, err)
	}
	if err := os.Rename(partial, out); err != nil {
		return err
	}
	fmt.Fprintf(progress, "built %s in %v\n", pkg, time.Since(begin).Round(time.Second/10))
	return nil
}

// goCommand runs the go command in dir and returns what it prints. With dir, the workspace is
// switched off: the server module is not part of it. Cgo is off since neither server needs it and a
// change of the setting recompiles everything.
func goCommand(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if dir != "" {
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PWD="+dir, "GOWORK=off", "CGO_ENABLED=0")
	}
	// An interrupted go command removes its temporary directory; one that is killed leaves
	// gigabytes in /tmp.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", fmt.Errorf("go %s: %w", args[0], context.Cause(ctx))
		}
		return "", fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return stdout.String(), nil
}
