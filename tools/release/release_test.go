package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestConsumer: the operator of examples/backup, as a module outside of the repository, gets the modules by their
// versions alone, and passes its tests: no workspace and no replacement.
func TestConsumer(t *testing.T) {
	// The go command takes what it knows of a version for immutable, so each run needs another one.
	version := fmt.Sprint("v0.0.1-consumer.", time.Now().UnixNano())
	proxy, dir := t.TempDir(), t.TempDir()
	if err := run("../..", version, proxy, ""); err != nil {
		t.Fatal(err)
	}
	copyOperator(t, dir)
	t.Cleanup(func() {
		all, err := modules("../..")
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range all {
			if err := m.forget(version); err != nil {
				t.Error(err)
			}
		}
	})
	get := "get"
	for _, module := range []string{"", "/with/kubernetes", "/with/kubeconfig", "/with/prometheus"} {
		get += " " + rootPath + module + "@" + version
	}
	for _, args := range []string{"mod init example.com/operator", get, "mod tidy", "mod verify", "build ./...", "vet ./...", "test -v ./..."} {
		out, err := command(dir, from(proxy), "go", strings.Fields(args)...)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(args, "test") && !strings.Contains(out, "--- PASS: TestBackup") {
			t.Errorf("no test ran:\n%s", out)
		}
	}
}

// copyOperator copies the folder examples/backup, without the test that uses an internal package.
func copyOperator(t *testing.T, to string) {
	t.Helper()
	const folder, path = "../../examples/backup", `"` + rootPath + `/examples/backup"`
	if err := os.CopyFS(to, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(to, "schedules_test.go")); err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"*.go", "program/*.go"} {
		files, err := filepath.Glob(filepath.Join(to, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%q has no files: %v", pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text = bytes.ReplaceAll(text, []byte(path), []byte(`"example.com/operator"`))
			if err := os.WriteFile(file, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestNotReady: nothing is written if the version or the checkout is not fit for a release.
func TestNotReady(t *testing.T) {
	repo := t.TempDir()
	for _, args := range []string{"init -q", "config user.name tests", "config user.email tests@example.com"} {
		if _, err := command(repo, nil, "git", strings.Fields(args)...); err != nil {
			t.Fatal(err)
		}
	}
	file := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(repo, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	commit := func() {
		t.Helper()
		for _, args := range [][]string{{"add", "."}, {"commit", "-qm", "a change"}} {
			if _, err := command(repo, nil, "git", args...); err != nil {
				t.Fatal(err)
			}
		}
	}
	refused := func(version, why string) {
		t.Helper()
		if err := run(repo, version, "", ""); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: got %v, want %q", version, err, why)
		}
	}
	file("CHANGELOG.md", "# Changelog\n\n## 0.1.0\n")
	refused("0.1.0", "is no version")
	refused("v0.1", "is no version")
	refused("v0.1.0", "not committed")
	commit()
	refused("v0.2.0", "no section 0.2.0")
	if _, err := command(repo, nil, "git", "tag", "v0.1.0"); err != nil {
		t.Fatal(err)
	}
	refused("v0.1.0", "there is a tag v0.1.0")
}

// TestPack: an archive has all files of a folder, and its bytes depend on nothing else.
func TestPack(t *testing.T) {
	var sums []string
	for range 2 {
		dir, to := t.TempDir(), filepath.Join(t.TempDir(), "all.tar.gz")
		for _, name := range []string{"kube-apiserver", "etcd"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("the program "+name), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := pack(dir, to); err != nil {
			t.Fatal(err)
		}
		out, err := command("", nil, "tar", "-tvzf", to)
		if err != nil {
			t.Fatal(err)
		}
		if lines := strings.Split(out, "\n"); len(lines) != 2 || !strings.HasPrefix(lines[0], "-rwxr-xr-x") || !strings.HasSuffix(lines[0], " etcd") {
			t.Errorf("the archive has\n%s", out)
		}
		data, err := os.ReadFile(to)
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, string(data))
	}
	if sums[0] != sums[1] {
		t.Errorf("the same files give %q and %q", sums[0], sums[1])
	}
}

// TestNotices: the notices name Go, the modules of others, and code that a module has taken over.
func TestNotices(t *testing.T) {
	all, err := notices("../..", []string{"GOWORK=off"}, []string{"./client"})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"==== Go: LICENSE", "==== k8s.io/apimachinery v", "/third_party/forked/golang: LICENSE"} {
		if !strings.Contains(string(all), want) {
			t.Errorf("%q is missing", want)
		}
	}
	if strings.Contains(string(all), rootPath) {
		t.Error("the module's own license is among those of others")
	}
}
