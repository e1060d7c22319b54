package live

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// working returns a frame with all its parts.
func working() Frame {
	return Frame{
		Title:           "kinform: a Kubernetes API server in memory",
		Elapsed:         9400 * time.Millisecond,
		Total:           15 * time.Second,
		SyncedIn:        1620 * time.Millisecond,
		Listed:          2013,
		Expected:        2000,
		Objects:         1987,
		ResourceVersion: "12345",
		Events:          4567,
		EventRate:       311.6,
		History:         []float64{0, 100, 200, 310, 250, 0, 0, 312},
		Queued:          3,
		Reconciles:      4321,
		Writes:          1234,
		ReconcileRate:   305,
		Lists:           2,
		Watches:         4,
		Errors:          5,
		Nodes: []Node{
			{Name: "node-01", Pods: 121, Running: 101, Pending: 12, Others: 8, CPU: "30.5", Memory: "61.0Gi"},
			{Name: "ip-10-0-12-34.eu-west-1.compute.internal", Pods: 60, Running: 60, CPU: "8.0", Memory: "9.9Gi"},
			{Name: "node-03", CPU: "0.0", Memory: "0.0Gi"},
		},
		Notes: []Note{
			{At: 3 * time.Second, Text: "demo: node-02 drained, 100 pods deleted"},
			{At: 9100 * time.Millisecond, Text: "watch pods, again in 622ms: a cause that is long\nand has \x1b[2Jnasty parts and so is cut off where the terminal ends"},
		},
	}
}

func frames() map[string]Frame {
	listing := Frame{Title: "kinform: cluster at example.com", Elapsed: 800 * time.Millisecond, Listed: 500, Expected: 2000, History: []float64{0}}
	unknown := listing
	unknown.Expected, unknown.Total = 0, 15*time.Second
	failing := unknown
	failing.Listed, failing.Errors = 0, 3
	failing.Notes = []Note{{Text: "list pods, again in 1s: connection refused"}}
	return map[string]Frame{
		"zero":    {},
		"listing": listing,
		"unknown": unknown,
		"failing": failing,
		"working": working(),
	}
}

// TestPicture compares the pictures with the files in testdata. go test -update writes
// these files.
func TestPicture(t *testing.T) {
	for name, f := range frames() {
		golden(t, name+".txt", strings.Join(f.Picture(100, false), "\n")+"\n"+f.Line()+"\n")
	}
	golden(t, "narrow.txt", strings.Join(working().Picture(40, false), "\n")+"\n")
	golden(t, "color.txt", strings.ReplaceAll(strings.Join(working().Picture(100, true), "\n")+"\n", "\x1b", "ESC"))
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// TestPictureFits checks that every frame fits every width, and that colours do not change
// the text.
func TestPictureFits(t *testing.T) {
	for name, f := range frames() {
		for width := -1; width < 130; width++ {
			bare, colored := f.Picture(width, false), f.Picture(width, true)
			for i, l := range bare {
				if n := utf8.RuneCountInString(l); n > max(width, 0) {
					t.Errorf("%s at width %d: line %d has %d cells: %q", name, width, i, n, l)
				}
				if got := stripSGR(colored[i]); got != l {
					t.Errorf("%s at width %d: line %d in colour is %q, without %q", name, width, i, got, l)
				}
			}
		}
	}
}

// stripSGR removes colours from s.
func stripSGR(s string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "\x1b[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		_, s, _ = strings.Cut(after, "m")
	}
}

func TestLineOfNote(t *testing.T) {
	got := Note{At: 12300 * time.Millisecond, Text: "two\nlines"}.Line()
	if want := "  12.3s  two lines"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
