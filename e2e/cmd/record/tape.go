package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
)

// indexName is the file that lists the recordings.
const indexName = "index.json"

// entry describes one recording in the index. It is the file format that the tests read.
type entry struct {
	// File has the body of the response. Its extension is json or pb, or txt for all other formats.
	File string `json:"file"`
	// About describes the recording.
	About string `json:"about"`

	Method      string `json:"method"`
	Path        string `json:"path"` // with its query
	Accept      string `json:"accept"`
	RequestBody string `json:"requestBody,omitempty"`

	Status int         `json:"status"`
	Header http.Header `json:"header"` // of keptHeaders
}

// tape collects recordings in memory. The zero value is empty.
type tape struct {
	entries []entry
	bodies  map[string][]byte // by entry.File
}

func (t *tape) add(e entry, body []byte) error {
	if _, ok := t.bodies[e.File]; ok {
		return fmt.Errorf("two recordings are called %s", e.File)
	}
	if len(body) == 0 {
		return fmt.Errorf("%s: the server sent an empty body", e.File)
	}
	if t.bodies == nil {
		t.bodies = map[string][]byte{}
	}
	t.bodies[e.File] = body
	t.entries = append(t.entries, e)
	return nil
}

// save removes the files that dir's index names and writes the recordings with a new index. Other
// files stay.
func (t *tape) save(dir string) error {
	old, err := readIndex(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range old {
		err := os.Remove(filepath.Join(dir, filepath.Base(e.File)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for name, body := range t.bodies {
		if err := os.WriteFile(filepath.Join(dir, name), body, 0o644); err != nil {
			return err
		}
	}
	var index bytes.Buffer
	enc := json.NewEncoder(&index)
	enc.SetEscapeHTML(false) // queries are easier to read with a plain &
	enc.SetIndent("", "  ")
	if err := enc.Encode(t.entries); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, indexName), index.Bytes(), 0o644)
}

func readIndex(dir string) ([]entry, error) {
	data, err := os.ReadFile(filepath.Join(dir, indexName))
	if err != nil {
		return nil, err
	}
	var entries []entry
	if err := json.Unmarshal(data, &entries); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, indexName), err)
	}
	return entries, nil
}
