package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestUpToDate: the packages match the recorded discovery.
func TestUpToDate(t *testing.T) {
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join("..", "..")
	for file, want := range files {
		if got, err := os.ReadFile(filepath.Join(folder, file)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not as generated: run go generate ./with/kubernetes (%v)", file, err)
		}
	}
	for _, pattern := range []string{"*/kinds.go", "*/*/kinds.go"} {
		found, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			if file, _ := filepath.Rel(folder, path); files[filepath.ToSlash(file)] == nil {
				t.Errorf("%s is of a group that is not served any more", file)
			}
		}
	}
	if len(files) < 20 {
		t.Errorf("%d files", len(files))
	}
}
