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

// checkout is a repository of git.
type checkout struct {
	t   *testing.T
	dir string
}

func newCheckout(t *testing.T) checkout {
	t.Helper()
	c := checkout{t, t.TempDir()}
	for _, args := range []string{"init -q", "config user.name tests", "config user.email tests@example.com"} {
		c.git(args)
	}
	return c
}

// git runs git with arguments that spaces divide.
func (c checkout) git(args string) string {
	c.t.Helper()
	out, err := command(c.dir, nil, "git", strings.Fields(args)...)
	if err != nil {
		c.t.Fatal(err)
	}
	return out
}

func (c checkout) write(name, text string) {
	c.t.Helper()
	at := filepath.Join(c.dir, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

func (c checkout) commit() {
	c.t.Helper()
	c.git("add .")
	c.git("commit -qm change")
}

// TestTags: each module has a tag, under which it names the others by this version. If one of them does not build from
// the tags alone, the checkout stays as it was.
func TestTags(t *testing.T) {
	number := fmt.Sprint("0.0.1-tags.", time.Now().UnixNano()) // as in TestConsumer
	version := "v" + number
	c := newCheckout(t)
	work := "go 1.26.0\n"
	for _, dir := range published {
		path, code := rootPath, "package kinform\n"
		if dir != "." {
			path, code = rootPath+"/"+dir, "package p\n\nimport _ \""+rootPath+"\"\n"
		}
		c.write(dir+"/go.mod", "module "+path+"\n\ngo 1.26.0\n")
		c.write(dir+"/p.go", code)
		work += "use ./" + dir + "\n"
	}
	c.write("go.work", work)
	c.write("LICENSE", "as you like\n")
	c.write("CHANGELOG.md", "# Changelog\n\n## "+number+"\n")
	c.write("with/prometheus/p_other.go", "package p\n\nvar _ int = \"\"\n")
	c.commit()
	before := c.git("rev-parse HEAD")
	if err := run(c.dir, version, "", ""); err == nil || !strings.Contains(err.Error(), "with/prometheus: go build") {
		t.Errorf("got %v", err)
	}
	if now, tags := c.git("rev-parse HEAD"), c.git("tag --list"); now != before || tags != "" {
		t.Errorf("it is at %s, and was at %s, with the tags %q", now, before, tags)
	}

	c.write("with/prometheus/p_other.go", "package p\n")
	c.commit()
	if err := run(c.dir, version, "", ""); err != nil {
		t.Fatal(err)
	}
	for _, dir := range published {
		tag, needs := version, 0
		if dir != "." {
			tag, needs = dir+"/"+version, 1
		}
		if mod := c.git("show " + tag + ":./" + dir + "/go.mod"); strings.Count(mod, rootPath+" "+version) != needs {
			t.Errorf("%s has\n%s", tag, mod)
		}
	}
	if changed := c.git("status --porcelain"); changed != "" {
		t.Errorf("left are %s", changed)
	}
}

// TestNotReady: nothing is written if the version or the checkout is not fit for a release.
func TestNotReady(t *testing.T) {
	c := newCheckout(t)
	refused := func(version, why string) {
		t.Helper()
		if err := run(c.dir, version, "", ""); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: got %v, want %q", version, err, why)
		}
	}
	c.write("CHANGELOG.md", "# Changelog\n\n## 0.1.0\n")
	refused("0.1.0", "is no version")
	refused("v0.1", "is no version")
	refused("v0.1.0", "not committed")
	c.commit()
	refused("v0.2.0", "no section 0.2.0")
	c.git("tag v0.1.0")
	refused("v0.1.0", "there is a tag v0.1.0")
	c.git("tag -d v0.1.0")
	c.git("tag with/envtest/v0.1.0")
	refused("v0.1.0", "there is a tag with/envtest/v0.1.0")
	c.write("CHANGELOG.md", "# Changelog\n\n## 0.3.10\n\n## 0.3.2 of today\n")
	c.commit()
	refused("v0.3.1", "no section 0.3.1")
	if err := ready(c.dir, "v0.3.2"); err != nil {
		t.Errorf("with a section: %v", err)
	}
}

// TestFetch: the tags come into the checkout with their commit. If there is another commit, nothing comes.
func TestFetch(t *testing.T) {
	c := newCheckout(t)
	c.write("CHANGELOG.md", "# Changelog\n")
	c.commit()
	to := t.TempDir()
	if err := clone(c.dir, to); err != nil {
		t.Fatal(err)
	}
	all := []*module{{dir: "."}, {dir: "e2e"}}
	if err := tag(to, "v0.1.0", all); err != nil {
		t.Fatal(err)
	}
	before := c.git("rev-parse HEAD")
	c.write("CHANGELOG.md", "# Changes\n")
	c.commit()
	moved := c.git("rev-parse HEAD")
	if err := fetch(c.dir, to); err == nil || !strings.Contains(err.Error(), "merge") {
		t.Errorf("with another commit: %v", err)
	}
	if now, tags := c.git("rev-parse HEAD"), c.git("tag --list"); now != moved || tags != "" {
		t.Errorf("it is at %s, and was at %s, with the tags %q", now, moved, tags)
	}
	c.git("reset -q --hard " + before)
	if err := fetch(c.dir, to); err != nil {
		t.Fatal(err)
	}
	if tags := c.git("tag --list"); tags != "e2e/v0.1.0\nv0.1.0" || c.git("rev-parse HEAD") != c.git("rev-parse v0.1.0") {
		t.Errorf("the tags are %q", tags)
	}
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
