package faults_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kinform/kinform/fake/faults"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
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
		list, err := faults.Parse(in)
		if err != nil {
			t.Errorf("%q: %v", in, err)
			continue
		}
		if got := faults.Script(list); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
		check(t, new(faults.Injector).Inject(list...))
	}
	if got := faults.Script([]faults.Fault{{}}); got != "" {
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
		_, err := faults.Parse(in)
		if !errors.Is(err, faults.ErrScript) || !strings.HasSuffix(err.Error(), "invalid script: "+want) {
			t.Errorf("%q: %v, want %s", in, err, want)
		}
	}
}

// FuzzScript checks that what parses is read the same from its own form.
func FuzzScript(f *testing.F) {
	files, err := filepath.Glob("../testdata/faults/*.txt")
	check(f, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		check(f, err)
		script, _, _ := strings.Cut(string(text), "---\n")
		f.Add(script)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := faults.Parse(text)
		if err != nil {
			return
		}
		form := faults.Script(list)
		again, err := faults.Parse(form)
		if err != nil || len(again) != len(list) || faults.Script(again) != form {
			t.Errorf("%q is written as %q, which reads as %q, %v", text, form, faults.Script(again), err)
		}
		check(t, new(faults.Injector).Inject(list...))
	})
}
