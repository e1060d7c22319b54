package faults_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/fake/faults"
)

// TestStrike: two faults count for themselves, the first one strikes, and the calls that were
// struck are struck again by the record.
func TestStrike(t *testing.T) {
	script := "refuse list pods code=429 call=2 times=2\ntruncate * * bytes=9 times=3\nexpire * * chance=0.5 seed=3\n"
	list, err := faults.Parse(script)
	check(t, err)
	calls := []faults.Call{}
	for i := range 20 {
		c := faults.Call{Verb: faults.VerbList, Resource: schema.GroupResource{Resource: "pods"}, HTTP: i%3 > 0}
		if i%4 == 0 {
			c.Verb = faults.VerbGet
		}
		calls = append(calls, c)
	}
	run := func(in *faults.Injector) (out []string) {
		for _, c := range calls {
			line := ""
			if f := in.Strike(c); f != nil {
				only := *f
				only.Verb, only.Resource, only.Skip, only.Times, only.Chance, only.Seed = "", schema.GroupResource{}, 0, 0, 0, 0
				line = faults.Script([]faults.Fault{only})
			}
			out = append(out, line)
		}
		return out
	}
	var first, second faults.Injector
	check(t, first.Inject(list...))
	want := run(&first)
	if want[1] != "truncate * * bytes=9\n" || want[2] != "refuse * * code=429\n" || !slices.Contains(want[5:], "expire * *\n") || !slices.Contains(want[5:], "") {
		t.Errorf("struck %q", want)
	}
	check(t, second.Inject(first.Struck()...))
	if got := run(&second); !slices.Equal(got, want) {
		t.Errorf("again %q, want %q", got, want)
	}
	second.Clear()
	if got := run(&second); slices.IndexFunc(got, func(s string) bool { return s != "" }) >= 0 {
		t.Errorf("cleared, and yet %q", got)
	}
}

func TestInvalidFaults(t *testing.T) {
	var in faults.Injector
	if err := in.Inject(faults.Fault{Expire: true}, faults.Fault{}); err == nil {
		t.Error("a fault without an action")
	}
	if f := in.Strike(faults.Call{Verb: faults.VerbGet}); f != nil {
		t.Errorf("a part was injected: %+v", f)
	}
}
