package main

import (
	"bytes"
	"errors"
	"flag"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	standard := options{runFor: 15 * time.Second, pods: 2000, changes: 300, seed: 1}
	with := func(change func(*options)) options {
		o := standard
		change(&o)
		return o
	}
	for _, tt := range []struct {
		args string
		want options
		err  string // a part of it; empty for none
	}{
		{"", standard, ""},
		{"-for 0", with(func(o *options) { o.runFor = 0 }), ""},
		{"-for=1m -plain", with(func(o *options) { o.runFor, o.plain = time.Minute, true }), ""},
		{"-debug :8080", with(func(o *options) { o.debug = ":8080" }), ""},
		{"-pods 7 -changes 0 -seed 9", with(func(o *options) { o.pods, o.changes, o.seed = 7, 0, 9 }), ""},
		{"-server http://a -write b", with(func(o *options) { o.server, o.write = "http://a", "b" }), ""},
		{"-kubeconfig k -context c", with(func(o *options) { o.kubeconfig, o.context = "k", "c" }), ""},
		{"-context c -write b", with(func(o *options) { o.context, o.write = "c", "b" }), ""},
		{"-for -1s", options{}, "negative"},
		{"-for soon", options{}, "invalid value"},
		{"-pods 0", options{}, "-pods 0 is not between"},
		{"-pods 1000001", options{}, "is not between"},
		{"-changes -1", options{}, "-changes -1 is not between"},
		{"-changes 10001", options{}, "is not between"},
		{"-server a -context c", options{}, "-server goes without"},
		{"-server a -kubeconfig c", options{}, "-server goes without"},
		{"-write a", options{}, "-write needs a real cluster"},
		{"start", options{}, `unexpected argument "start"`},
		{"-nonsense", options{}, "not defined: -nonsense"},
	} {
		got, err := parse(strings.Fields(tt.args))
		switch {
		case tt.err == "" && (err != nil || got != tt.want):
			t.Errorf("%q: %+v, %v, want %+v", tt.args, got, err, tt.want)
		case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
			t.Errorf("%q: error %v, want one with %q", tt.args, err, tt.err)
		}
	}
	if _, err := parse([]string{"-h"}); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-h: %v, want flag.ErrHelp", err)
	}
}

// TestHelp holds the help to all flags, and to a terminal's width.
func TestHelp(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if status := command(t.Context(), []string{"-h"}, &stdout, &stderr); status != 0 || stderr.Len() > 0 {
		t.Errorf("-h: status %d, stderr %q", status, stderr.String())
	}
	_, fs := flags()
	fs.VisitAll(func(f *flag.Flag) {
		if n := strings.Count(stdout.String(), "\n  -"+f.Name+" "); n != 1 {
			t.Errorf("-%s has %d lines in the help", f.Name, n)
		}
	})
	for line := range strings.Lines(stdout.String()) {
		if len(line) > 100 {
			t.Errorf("longer than 100: %q", line)
		}
	}
}

func TestWrongCommand(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if status := command(t.Context(), []string{"-pods", "0"}, &stdout, &stderr); status != 2 {
		t.Errorf("status %d, want 2", status)
	}
	if !strings.Contains(stderr.String(), "-pods 0") || !strings.Contains(stderr.String(), "-h") || stdout.Len() > 0 {
		t.Errorf("stdout %q, stderr %q", stdout.String(), stderr.String())
	}
}
