package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/e2e/cluster"
)

// committed is the directory of the recordings in the repository.
const committed = "../../../client/testdata"

// checkRecordings checks the directory as a whole, and each event of the watches.
func checkRecordings(t *testing.T, dir string) (names []string) {
	t.Helper()
	index, err := readIndex(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := files(t, dir)
	for _, e := range index {
		names = append(names, e.File)
		if all[e.File] == "" {
			t.Errorf("%s is empty or missing", e.File)
		}
		if strings.HasPrefix(e.File, "watch") && strings.HasSuffix(e.File, ".json") {
			checkWatch(t, e.File, []byte(all[e.File]))
		}
		if e.About == "" || e.Status == 0 || e.Method == "" || e.Path == "" || e.Header.Get("Content-Type") == "" {
			t.Errorf("%s: incomplete entry %+v", e.File, e)
		}
	}
	for _, name := range []string{indexName, "README.md", ".gitattributes"} {
		delete(all, name)
	}
	if len(all) != len(index) {
		t.Errorf("%d files, %d in the index", len(all), len(index))
	}
	return names
}

// checkWatch compares the types of the events with the expected ones. More bookmarks may come, and
// neighbours of the same type count as one.
func checkWatch(t *testing.T, file string, body []byte) {
	t.Helper()
	want := map[string]string{
		"watch-configmaps.json":           "ADDED MODIFIED DELETED BOOKMARK",
		"watch-pods.json":                 "ADDED MODIFIED DELETED BOOKMARK",
		"watch-pods-metadata.json":        "ADDED MODIFIED DELETED BOOKMARK",
		"watch-configmaps-selected.json":  "ADDED DELETED ADDED DELETED BOOKMARK",
		"watch-configmaps-zero.json":      "ADDED BOOKMARK",
		"watch-widgets.json":              "ADDED BOOKMARK",
		"watchlist-configmaps.json":       "ADDED BOOKMARK",
		"watchlist-pods.json":             "ADDED BOOKMARK",
		"watchlist-configmaps-empty.json": "BOOKMARK",
		"watch-expired-cache.json":        "ERROR",
		"watch-expired-etcd.json":         "ERROR",
	}[file]
	var types []string
	marked := false
	for line := range bytes.Lines(body) {
		var event struct {
			Type   string
			Object metav1.PartialObjectMetadata
		}
		if err := json.Unmarshal(line, &event); err != nil {
			t.Fatalf("%s: %v in %q", file, err, line)
		}
		types = append(types, event.Type)
		if event.Type == "BOOKMARK" && event.Object.Annotations[metav1.InitialEventsAnnotationKey] == "true" {
			marked = true
		}
	}
	if got := strings.Join(slices.Compact(types), " "); got != want {
		t.Errorf("%s has %s, want %s", file, got, want)
	}
	if strings.HasPrefix(file, "watchlist-") && !marked {
		t.Errorf("%s has no bookmark that ends the initial events", file)
	}
}

func TestCommittedRecordings(t *testing.T) {
	checkRecordings(t, committed)
}

func TestRunRecordsTheSame(t *testing.T) {
	if os.Getenv(cluster.Variable) != "1" {
		t.Skipf("needs a real API server: set %s=1 (go test -timeout 30m)", cluster.Variable)
	}
	dir := t.TempDir()
	if err := run(t.Context(), dir, os.Stderr); err != nil {
		t.Fatal(err)
	}
	got, want := checkRecordings(t, dir), checkRecordings(t, committed)
	if !slices.Equal(got, want) {
		t.Errorf("the command makes other recordings than client/testdata has; make those anew\ngot  %v\nwant %v", got, want)
	}
}

func TestRunWantsADirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, file + "2"} {
		if err := run(t.Context(), dir, os.Stderr); err == nil {
			t.Errorf("run in %s: no error", dir)
		}
	}
}
