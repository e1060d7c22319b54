package fake_test

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
)

var update = flag.Bool("update", false, "write the transcripts into testdata; read them afterwards")

const separator = "---\n"

// TestFaultScripts runs each script of testdata/faults and compares with the transcript
// that follows it in the file.
func TestFaultScripts(t *testing.T) {
	files := must(filepath.Glob("testdata/faults/*.txt"))(t)
	if len(files) < 10 {
		t.Fatalf("%d scripts", len(files))
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			script, want, _ := strings.Cut(string(must(os.ReadFile(file))(t)), separator)
			got, struck := play(t, script)
			if *update {
				check(t, os.WriteFile(file, []byte(script+separator+got), 0o600))
				return
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
			// What struck is a script without chance that does the same again.
			if again, _ := play(t, struck); again != got {
				t.Errorf("replayed by\n%sit went\n%s", struck, again)
			}
		})
	}
}

// play lets a fixed scenario run into the faults of a script. It returns what was seen
// and the faults that struck.
func play(t *testing.T, script string) (transcript, struck string) {
	list := must(faults.Parse(script))(t)
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, fake.Options{})
		check(t, s.Inject(list...))
		p := player{s: s, began: time.Now()}
		for i := range 4 {
			must(fake.Create(s, newPod("a", fmt.Sprintf("p%d", i))))(t)
		}
		for range 4 {
			p.http("/api/v1/pods?limit=3")
			must(fake.Patch[*pod](s, key("a", "p0"), fmt.Appendf(nil, `{"spec":{"node":"%d"}}`, p.lines)))(t)
			p.http("/api/v1/pods?watch=1&timeoutSeconds=20&resourceVersion=2")
			p.source(t)
		}
		p.http("/api/v1/namespaces/a/pods/p0")
		transcript, struck = p.text.String(), faults.Script(s.Struck())
	})
	return transcript, struck
}

type player struct {
	s     *fake.Server
	began time.Time
	text  strings.Builder
	lines int
}

func (p *player) say(format string, args ...any) {
	p.lines++
	fmt.Fprintf(&p.text, "%4s %s\n", time.Since(p.began), fmt.Sprintf(format, args...))
}

// http makes one request and tells what came of it, objects as name@resourceVersion.
func (p *player) http(path string) {
	resp, err := p.s.Client().Get(fake.URL + path)
	if err != nil {
		p.say("GET %s: no answer, unexpected end: %t", path, errors.Is(err, io.ErrUnexpectedEOF))
		return
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	seen := ""
	for _, part := range strings.Split(string(b), `"metadata":{"name":"`)[1:] {
		name, _, _ := strings.Cut(part, `"`)
		_, rv, _ := strings.Cut(part, `"resourceVersion":"`)
		rv, _, _ = strings.Cut(rv, `"`)
		seen += " " + name + "@" + rv
	}
	end := ""
	if resp.StatusCode >= 400 {
		end = " " + resp.Header.Get("Retry-After") + " " + string(b)
	} else if strings.Contains(string(b), `"type":"ERROR"`) {
		end = " ERROR"
	}
	if err != nil {
		end += fmt.Sprintf(" broken after %d bytes", len(b))
	}
	p.say("GET %s: %d%s%s", path, resp.StatusCode, seen, end)
}

// source watches without a socket, from after the first pod.
func (p *player) source(t *testing.T) {
	src := must(fake.NewSource[*pod](p.s, fake.Selection{}))(t)
	seconds, seen := int64(20), ""
	for ev, err := range src.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "2", TimeoutSeconds: &seconds, AllowWatchBookmarks: true}) {
		switch {
		case err != nil:
			seen += " " + err.Error()
		case ev.Object == nil:
			seen += " mark@" + ev.ResourceVersion
		default:
			seen += " " + ev.Object.Name + "@" + ev.ResourceVersion
		}
	}
	p.say("source:%s", seen)
}
