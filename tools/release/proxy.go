package main

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	mod "golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// write writes the module to a folder as a proxy has it. pack makes its archive.
func (m *module) write(root, version, proxy string, pack func(w io.Writer, m *module, root, version string) error) error {
	at := filepath.Join(proxy, filepath.FromSlash(m.path), "@v")
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	info, err := json.Marshal(struct {
		Version string
		Time    time.Time
	}{version, time.Now().UTC()})
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(root, m.dir, "go.mod"))
	if err != nil {
		return err
	}
	packed, err := os.Create(filepath.Join(at, version+".zip"))
	if err != nil {
		return err
	}
	return errors.Join(
		pack(packed, m, root, version),
		packed.Close(),
		os.WriteFile(filepath.Join(at, version+".mod"), text, 0o644),
		os.WriteFile(filepath.Join(at, version+".info"), info, 0o644),
		os.WriteFile(filepath.Join(at, "list"), []byte(version+"\n"), 0o644),
	)
}

// fromFolder packs the files of a module's folder.
func fromFolder(w io.Writer, m *module, root, version string) error {
	dir := filepath.Join(root, m.dir)
	if err := addFile(root, dir, "LICENSE"); err != nil {
		return err
	}
	return zip.CreateFromDir(w, mod.Version{Path: m.path, Version: version}, dir)
}

// fromTag packs what git has at a module's tag, as a proxy does.
func fromTag(w io.Writer, m *module, root, version string) error {
	sub := filepath.FromSlash(m.dir)
	if m.dir == "." {
		sub = ""
	}
	return zip.CreateFromVCS(w, mod.Version{Path: m.path, Version: version}, root, m.tag(version), sub)
}

// addFile copies a file of the repository into a folder without one of that name, as proxies do with the license of a
// module.
func addFile(root, dir, name string) error {
	to := filepath.Join(dir, name)
	if _, err := os.Stat(to); err == nil {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o644)
}

// forget removes a version of the module from the module cache, whatever it was: what is written to a proxy may
// change until it is published.
func (m *module) forget(version string) error {
	cache, err := command("", nil, "go", "env", "GOMODCACHE")
	if err != nil {
		return err
	}
	at := filepath.Join(cache, filepath.FromSlash(m.path)+"@"+version)
	err = filepath.WalkDir(at, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return os.Chmod(path, 0o755) // the cache is read-only
		}
		return nil
	})
	if err != nil {
		return err
	}
	downloads, err := filepath.Glob(filepath.Join(cache, "cache", "download", filepath.FromSlash(m.path), "@v", version+".*"))
	if err != nil {
		return err
	}
	for _, path := range append(downloads, at) {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	return nil
}
