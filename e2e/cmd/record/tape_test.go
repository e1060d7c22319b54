package main

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, file := range list {
		data, err := os.ReadFile(filepath.Join(dir, file.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[file.Name()] = string(data)
	}
	return all
}

func tapeOf(t *testing.T, bodies map[string]string) *tape {
	t.Helper()
	tp := new(tape)
	for _, name := range slices.Sorted(maps.Keys(bodies)) {
		if err := tp.add(entry{File: name, Path: "/x?a=1&b=2", Status: 200}, []byte(bodies[name])); err != nil {
			t.Fatal(err)
		}
	}
	return tp
}

func TestSaveReplacesItsOwnFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "README.md"), []byte("hand"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := tapeOf(t, map[string]string{"a.json": "1", "b.json": "2"}).save(dir); err != nil {
		t.Fatal(err)
	}
	second := tapeOf(t, map[string]string{"b.json": "3", "c.pb": "4"})
	if err := second.save(dir); err != nil {
		t.Fatal(err)
	}
	got := files(t, dir)
	delete(got, indexName)
	if want := map[string]string{"README.md": "hand", "b.json": "3", "c.pb": "4"}; !maps.Equal(got, want) {
		t.Errorf("files %v, want %v", got, want)
	}
	index, err := readIndex(dir)
	if err != nil {
		t.Fatal(err)
	}
	same := func(a, b entry) bool { return a.File == b.File && a.Path == b.Path && a.Status == b.Status }
	if !slices.EqualFunc(index, second.entries, same) {
		t.Errorf("index %v, want %v", index, second.entries)
	}
}

// A name in the index must not lead out of its directory.
func TestSaveStaysInItsDirectory(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "dir")
	victim := filepath.Join(parent, "victim")
	for _, err := range []error{
		os.Mkdir(dir, 0o755),
		os.WriteFile(victim, nil, 0o644),
		os.WriteFile(filepath.Join(dir, indexName), []byte(`[{"file":"../victim"}]`), 0o644),
		new(tape).save(dir),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(victim); err != nil {
		t.Error(err)
	}
}

func TestTapeRefuses(t *testing.T) {
	tp := tapeOf(t, map[string]string{"a.json": "1"})
	if err := tp.add(entry{File: "a.json"}, []byte("2")); err == nil {
		t.Error("two recordings of one name: no error")
	}
	if err := tp.add(entry{File: "b.json"}, nil); err == nil {
		t.Error("empty recording: no error")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, indexName), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := tp.save(dir); err == nil {
		t.Error("broken index: no error")
	}
	if err := tp.save(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing directory: %v", err)
	}
}
