package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// published are the folders of the modules that others import, and of those that tests of these import: "go mod
// tidy" of an importer looks at them, too.
var published = []string{
	".", "with/kubernetes", "with/kubeconfig", "with/clientgo", "with/prometheus", "with/apiextensions",
	"with/controllerruntime", "with/envtest", "with/strategies", "e2e", "examples",
}

// module is one of the modules.
type module struct {
	dir  string // relative to the root, with slashes
	path string
	uses []*module // of ours, by imports
}

// modules returns the modules in a folder, each after those that it uses.
func modules(root string) ([]*module, error) {
	byPath := map[string]*module{}
	var all []*module
	for _, dir := range published {
		text, err := os.ReadFile(filepath.Join(root, dir, "go.mod"))
		if err != nil {
			return nil, err
		}
		m := &module{dir: dir, path: modfile.ModulePath(text)}
		all, byPath[m.path] = append(all, m), m
	}
	for _, m := range all {
		if err := m.findUses(root, byPath); err != nil {
			return nil, err
		}
	}
	var ordered []*module
	for len(all) > 0 {
		next := slices.IndexFunc(all, func(m *module) bool {
			return !slices.ContainsFunc(m.uses, func(used *module) bool { return !slices.Contains(ordered, used) })
		})
		if next < 0 {
			return nil, fmt.Errorf("%s and others use each other", all[0].path)
		}
		ordered, all = append(ordered, all[next]), slices.Delete(all, next, next+1)
	}
	return ordered, nil
}

// findUses looks at the imports of all packages and their tests.
func (m *module) findUses(root string, byPath map[string]*module) error {
	dir, workspace := filepath.Join(root, m.dir), "GOWORK="
	if replaces(dir) {
		workspace = "GOWORK=off"
	}
	out, err := command(dir, []string{workspace}, "go", "list", "-e", "-tags", "e2e", "-test", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "./...")
	if err != nil {
		return fmt.Errorf("%s: %w", m.path, err)
	}
	paths := strings.Fields(out)
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		if used := byPath[path]; used != nil && used != m {
			m.uses = append(m.uses, used)
		} else if used == nil && strings.HasPrefix(path, rootPath+"/") {
			return fmt.Errorf("%s uses %s, which is not published", m.path, path)
		}
	}
	return nil
}

const rootPath = "github.com/kinform/kinform"

// replaces reports whether a module is not in the workspace, and finds the others by replacements.
func replaces(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	return err == nil && strings.Contains(string(text), "\nreplace ")
}

// tag is the module's tag for a version.
func (m *module) tag(version string) string {
	if m.dir == "." {
		return version
	}
	return m.dir + "/" + version
}

// name lets go.mod and go.sum name the modules that this one uses, which are in the proxy.
func (m *module) name(root, version, proxy string) error {
	if len(m.uses) == 0 {
		return nil
	}
	dir := filepath.Join(root, m.dir)
	args := []string{"mod", "edit"}
	for _, used := range m.uses {
		args = append(args, "-dropreplace="+used.path, "-require="+used.path+"@"+version)
	}
	if _, err := command(dir, nil, "go", args...); err != nil {
		return err
	}
	_, err := command(dir, from(proxy), "go", "mod", "tidy")
	return err
}

// build compiles all packages of the module, as it is in the clone, with the other modules from the proxy, and then the
// module from the proxy, too.
func (m *module) build(clone, version, proxy string) error {
	if _, err := command(filepath.Join(clone, m.dir), from(proxy), "go", "build", "./..."); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "consumer")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, args := range [][]string{{"mod", "init", "example.com/consumer"}, {"get", m.path + "@" + version}, {"build", m.path + "/..."}} {
		if _, err := command(dir, append(from(proxy), "GOFLAGS=-mod=mod"), "go", args...); err != nil {
			return err
		}
	}
	return nil
}

// from are the variables for modules from a proxy in a folder, and others as usual. What is not published has no
// checksum anywhere.
func from(proxy string) []string {
	usual, err := command("", nil, "go", "env", "GOPROXY")
	if err != nil {
		usual = "https://proxy.golang.org,direct"
	}
	return []string{"GOWORK=off", "GOPROXY=file://" + filepath.ToSlash(proxy) + "," + usual, "GONOSUMDB=" + rootPath + "," + rootPath + "/*"}
}
