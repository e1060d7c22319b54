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
	faults := must(fake.ParseScript(script))(t)
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, fake.Options{})
		check(t, s.Inject(faults...))
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
		transcript, struck = p.text.String(), fake.Script(s.Struck())
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

func TestScriptForms(t *testing.T) {
	for in, want := range map[string]string{
		"":                              "",
		"# nothing\n\n   \n":            "",
		"drop watch pods after=3 # so":  "drop watch pods after=3\n",
		" drop  watch * after=3 call=1": "drop watch * after=3\n",
		"drop watch * after=3 times=1":  "drop watch * after=3 times=1\n",
		"refuse * * code=429 retry-after=7 reason=TooManyRequests":   "refuse * * code=429 retry-after=7\n",
		"refuse get deployments.apps code=418 reason=Teapot":         "refuse get deployments.apps code=418 reason=Teapot\n",
		"refuse get * code=403 reason=":                              "refuse get * code=403 reason=\n",
		"truncate list a.b.c bytes=9 times=all call=10":              "truncate list a.b.c bytes=9 call=10 times=all\n",
		"delay * * by=90s\nrestart * *":                              "delay * * by=1m30s\nrestart * * history=keep\n",
		"expire * * chance=0.25 seed=18446744073709551615":           "expire * * chance=0.25 seed=18446744073709551615\n",
		"jump * * by=1099511627776 call=4294967297 times=4294967296": "jump * * by=1099511627776 call=4294967297 times=4294967296\n",
		"jump list * by=5\r\nsilence * * after=2":                    "jump list * by=5\nsilence * * after=2\n",
	} {
		faults, err := fake.ParseScript(in)
		if err != nil {
			t.Errorf("%q: %v", in, err)
			continue
		}
		if got := fake.Script(faults); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
		check(t, fake.New(fake.Options{}).Inject(faults...))
	}
	if got := fake.Script([]fake.Fault{{}}); got != "" {
		t.Errorf("no action is %q", got)
	}
}

func TestScriptErrors(t *testing.T) {
	for in, want := range map[string]string{
		"drop watch":                            `line 1: "drop watch": want an action, a verb and a resource`,
		"\n# c\nexplode watch pods":             `line 3: unknown action "explode"`,
		"drop watch pods":                       "line 1: after is missing",
		"drop watch pods after=x":               "line 1: after=x: want a number from 1",
		"drop watch pods after=0":               "line 1: after=0: want a number from 1",
		"drop watch pods after=1e9":             "line 1: after=1e9: want a number from 1",
		"refuse * * code=4294967696":            "line 1: code=4294967696: want a number from 400",
		"refuse * * code=429 retry-after=1e10":  "line 1: retry-after=1e10: want a number from 0",
		"jump * * by=99999999999999999999":      "line 1: by=99999999999999999999: want a number from 1",
		"drop watch pods after=1 after=2":       `line 1: "after=2": want name=value, each name once`,
		"drop watch pods after":                 `line 1: "after": want name=value, each name once`,
		"drop watch pods after=1 b=1 a=1":       `line 1: unknown argument "a"`,
		"drop get pods after=1":                 `line 1: invalid fault: the action cannot strike verb "get"`,
		"drop eat pods after=1":                 `line 1: invalid fault: the action cannot strike verb "eat"`,
		"reorder list pods event=1":             `line 1: invalid fault: the action cannot strike verb "list"`,
		"delay list pods by=1s after=2":         `line 1: invalid fault: the action cannot strike verb "list"`,
		"delay list pods by=-1s":                "line 1: by=-1s: want a duration",
		"delay list pods":                       "line 1: by=: want a duration",
		"expire * * call=0":                     "line 1: call=0: want a number from 1",
		"expire * * times=0":                    "line 1: times=0: want a number from 1",
		"expire * * chance=1":                   "line 1: chance=1: want a number between 0 and 1",
		"expire * * chance=NaN":                 "line 1: chance=NaN: want a number between 0 and 1",
		"expire * * seed=-1":                    "line 1: seed=-1: want a number",
		"restart * * history=some":              "line 1: history=some: want keep or lose",
		"refuse * * code=200":                   "line 1: code=200: want a number from 400",
		"refuse * * code=600":                   "line 1: invalid fault: status code 600 refuses nothing",
		"expire * *\nrefuse * * code=429 call=": "line 2: call=: want a number from 1",
	} {
		_, err := fake.ParseScript(in)
		if !errors.Is(err, fake.ErrScript) || !strings.HasSuffix(err.Error(), "invalid script: "+want) {
			t.Errorf("%q: %v, want %s", in, err, want)
		}
	}
}

// FuzzScript checks that what parses is read the same from its own form.
func FuzzScript(f *testing.F) {
	files, err := filepath.Glob("testdata/faults/*.txt")
	check(f, err)
	for _, file := range files {
		script, _, _ := strings.Cut(string(must(os.ReadFile(file))(f)), separator)
		f.Add(script)
	}
	f.Fuzz(func(t *testing.T, text string) {
		faults, err := fake.ParseScript(text)
		if err != nil {
			return
		}
		form := fake.Script(faults)
		again, err := fake.ParseScript(form)
		if err != nil || len(again) != len(faults) || fake.Script(again) != form {
			t.Errorf("%q is written as %q, which reads as %q, %v", text, form, fake.Script(again), err)
		}
		check(t, fake.New(fake.Options{}).Inject(faults...))
	})
}
