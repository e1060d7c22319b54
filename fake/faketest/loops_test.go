package faketest_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faketest"
)

// Writes that change nothing count while nobody changes the object, and for ever once they are a loop.
func TestNoIdleLoops(t *testing.T) {
	const times = 9
	const loop = `["faketest: loop: pods a/x: \"mover\" has written %d times what changed nothing"]`
	for name, c := range map[string]struct {
		between func(s *fake.Server) error
		more    int // writes before it
		want    string
	}{
		"nothing":              {between: func(*fake.Server) error { return nil }, want: fmt.Sprintf(loop, 2*times)},
		"a change":             {between: change, want: `[]`},
		"a change of a loop":   {between: change, more: 1, want: fmt.Sprintf(loop, 2*times+1)},
		"a deletion":           {between: again, want: `[]`},
		"a deletion, and more": {between: again, more: 5, want: fmt.Sprintf(loop, 2*times+5)},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			var f tester
			faketest.NoLoops(&f, s)
			must(fake.Create(s, newPod("a", "x")))(t)
			pods := must(client.New(client.Connection{URL: fake.URL, HTTP: s.Client(), UserAgent: "mover/v1"}, podKind, client.Options{}))(t)
			write := func(times int) {
				for range times {
					must(pods.Patch(t.Context(), x, types.MergePatchType, []byte(`{"spec":{}}`), metav1.PatchOptions{}))(t)
				}
			}
			write(times + c.more)
			if err := c.between(s); err != nil {
				t.Fatal(err)
			}
			write(times)
			for _, do := range f.cleanup {
				do()
			}
			if got := fmt.Sprintf("%q", f.errors); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

var x = types.NamespacedName{Namespace: "a", Name: "x"}

func change(s *fake.Server) error {
	_, err := fake.Patch[*pod](s, x, []byte(`{"metadata":{"labels":{"a":"b"}}}`))
	return err
}

// again deletes the pod, and makes it again.
func again(s *fake.Server) error {
	_, err := fake.Delete[*pod](s, x)
	if err == nil {
		_, err = fake.Create(s, newPod("a", "x"))
	}
	return err
}

// A client moves a pod again and again. That is a loop, unless the test gives it a reason each time.
func TestNoLoops(t *testing.T) {
	for name, c := range map[string]struct {
		node   func(n int) string
		reason bool
		want   string
	}{
		"once":                {node: func(n int) string { return "a" }, want: `["faketest: loop: pods a/x: \"mover\" has written 29 times what changed nothing"]`},
		"by turns":            {node: func(n int) string { return fmt.Sprint(n % 2) }, want: `["faketest: loop: pods a/x: \"mover\" has written spec.node 30 times in a row without a reason: its values come back"]`},
		"further and further": {node: func(n int) string { return fmt.Sprint(n) }, want: `["faketest: loop: pods a/x: \"mover\" has written spec.node 30 times in a row without a reason: it is different each time"]`},
		"for a reason":        {node: func(n int) string { return fmt.Sprint(n) }, reason: true, want: `[]`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			var f tester
			faketest.NoLoops(&f, s)
			must(fake.Create(s, newPod("a", "x")))(t)
			pods := must(client.New(client.Connection{URL: fake.URL, HTTP: s.Client(), UserAgent: "mover/v1"}, podKind, client.Options{}))(t)
			for n := range 30 {
				if c.reason {
					must(fake.Patch[*pod](s, types.NamespacedName{Namespace: "a", Name: "x"}, fmt.Appendf(nil, `{"metadata":{"labels":{"n":"%d"}}}`, n)))(t)
				}
				patch := fmt.Appendf(nil, `{"spec":{"node":%q}}`, c.node(n))
				must(pods.Patch(t.Context(), types.NamespacedName{Namespace: "a", Name: "x"}, types.MergePatchType, patch, metav1.PatchOptions{}))(t)
			}
			for _, do := range f.cleanup {
				do()
			}
			if got := fmt.Sprintf("%q", f.errors); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
