package fake_test

import (
	"fmt"
	"io"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/reflector"
)

// bigServer holds n pods in 100 namespaces.
func bigServer(b *testing.B, n int) *fake.Server {
	b.Helper()
	s := newServer(b, fake.Options{})
	for i := range n {
		p := newPod(fmt.Sprintf("ns-%d", i%100), fmt.Sprintf("pod-%d", i))
		p.Labels = map[string]string{"app": fmt.Sprint(i % 10)}
		must(fake.Create(s, p))(b)
	}
	return s
}

func BenchmarkCreate100k(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		bigServer(b, 100_000)
	}
}

func BenchmarkList100k(b *testing.B) {
	s := bigServer(b, 100_000)
	for name, sel := range map[string]fake.Selection{
		"copies":    {},
		"read-only": {ReadOnly: true},
		"label":     {ReadOnly: true, LabelSelector: "app=1"},
		"namespace": {ReadOnly: true, Namespace: "ns-7"},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				must(fake.List[*pod](s, sel))(b)
			}
		})
	}
}

func BenchmarkHTTPList10k(b *testing.B) {
	s := bigServer(b, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		resp := must(s.Client().Get(fake.URL + "/api/v1/pods"))(b)
		n := must(io.Copy(io.Discard, resp.Body))(b)
		b.SetBytes(n)
		resp.Body.Close()
	}
}

func BenchmarkUpdate(b *testing.B) {
	s := bigServer(b, 1000)
	p := must(fake.Get[*pod](s, key("ns-1", "pod-1")))(b)
	p.ResourceVersion = ""
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		p.Spec.Node = fmt.Sprint(i)
		must(fake.Update(s, p))(b)
	}
}

// BenchmarkWatch creates and receives one object per iteration.
func BenchmarkWatch(b *testing.B) {
	s := newServer(b, fake.Options{})
	src := must(fake.NewSource[*pod](s, fake.Selection{}))(b)
	b.ReportAllocs()
	create := func() {
		p := newPod("a", "")
		p.GenerateName = "p-"
		must(fake.Create(s, p))(b)
	}
	create()
	for ev, err := range src.Watch(b.Context(), metav1.ListOptions{ResourceVersion: "1"}) {
		if err != nil || ev.Type != reflector.Added {
			b.Fatal(ev, err)
		}
		if !b.Loop() {
			break
		}
		create()
	}
}
