package decode

import (
	"bytes"
	"io"
	"reflect"
	"runtime"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/kinform/kinform/bench/internal/pods"
	"github.com/kinform/kinform/internal/kubeproto"
)

// way is one way to get pods out of a body. What it returns is kept until the next body
// is decoded.
type way func(t testing.TB, body []byte) []*corev1.Pod

// measure decodes a body again and again and reports what a pod costs.
func measure(b *testing.B, body []byte, list *corev1.PodList, decode way) {
	requirePods(b, decode(b, body), list)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	n, start := 0, cpuTime()
	for b.Loop() {
		kept = decode(b, body)
		n += len(kept)
	}
	used := cpuTime() - start
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(held())/float64(len(kept)), "held-B/pod")
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(used)/float64(n), "cpu-ns/pod")
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/float64(n), "allocs/pod")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(n), "B/pod")
	b.ReportMetric(float64(len(body))/float64(len(list.Items)), "wire-B/pod")
}

// held returns the bytes that the pods in kept take on the heap. It lets them go.
func held() int64 {
	var with, without runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&with)
	clear(kept)
	runtime.GC()
	runtime.ReadMemStats(&without)
	return int64(with.HeapAlloc) - int64(without.HeapAlloc)
}

// cpuTime returns the CPU time of this process so far, including garbage collection.
// Wall-clock time would also depend on other processes.
func cpuTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err) // only for an unknown first argument
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// kept makes every pod one on the heap.
var kept []*corev1.Pod

// BenchmarkList decodes a list response.
func BenchmarkList(b *testing.B) {
	list := pods.List(benchPods)
	for _, e := range encodings {
		body := encode(b, podKind, e.mediaType, list)
		b.Run(e.name+"/client-go", func(b *testing.B) { measure(b, body, list, clientGoList(b, e.mediaType)) })
		b.Run(e.name+"/kinform", func(b *testing.B) { measure(b, body, list, clientList(b, answers{e.mediaType, body})) })
		if e.mediaType == apiruntime.ContentTypeProtobuf {
			b.Run(e.name+"/generated", func(b *testing.B) { measure(b, body, list, generatedList(nil)) })
			b.Run(e.name+"/generated+walk", func(b *testing.B) { measure(b, body, list, generatedList(kubeproto.NewStrings(0))) })
			b.Run(e.name+"/plan", func(b *testing.B) { measure(b, body, list, planList(b, kubeproto.Options{})) })
			b.Run(e.name+"/plan+strings", func(b *testing.B) {
				measure(b, body, list, planList(b, kubeproto.Options{Strings: kubeproto.NewStrings(0)}))
			})
		}
	}
}

// BenchmarkWatch decodes the events of a watch.
func BenchmarkWatch(b *testing.B) {
	list := pods.List(benchPods)
	for _, e := range encodings {
		body := eventsBody(b, podKind, e.mediaType, podsOf(list))
		b.Run(e.name+"/client-go", func(b *testing.B) { measure(b, body, list, clientGoWatch(e.mediaType)) })
		b.Run(e.name+"/kinform", func(b *testing.B) { measure(b, body, list, clientWatch(b, answers{watchType(e.mediaType), body})) })
		if e.mediaType == apiruntime.ContentTypeProtobuf {
			b.Run(e.name+"/plan", func(b *testing.B) { measure(b, body, list, planWatch(b, kubeproto.Options{})) })
			b.Run(e.name+"/plan+strings", func(b *testing.B) {
				measure(b, body, list, planWatch(b, kubeproto.Options{Strings: kubeproto.NewStrings(0)}))
			})
		}
	}
}

// clientGoList decodes the body like List of a typed client (rest.Result.Into).
func clientGoList(t testing.TB, mediaType string) way {
	decoder, err := negotiator(podKind).Decoder(mediaType, nil)
	if err != nil {
		t.Fatal(err)
	}
	return func(t testing.TB, body []byte) []*corev1.Pod {
		var list corev1.PodList
		if _, _, err := decoder.Decode(body, nil, &list); err != nil {
			t.Fatal(err)
		}
		out := make([]*corev1.Pod, len(list.Items))
		for i := range out {
			out[i] = &list.Items[i]
		}
		return out
	}
}

// clientGoWatch decodes the body like Watch of a typed client.
func clientGoWatch(mediaType string) way {
	return func(t testing.TB, body []byte) []*corev1.Pod {
		objects, err := clientGoEvents(podKind, mediaType, body)
		if err != nil {
			t.Fatal(err)
		}
		out := make([]*corev1.Pod, len(objects))
		for i := range out {
			out[i] = objects[i].(*corev1.Pod)
		}
		return out
	}
}

// clientList is the List of our client, with a server in the process.
func clientList(t testing.TB, a answers) way {
	c := clientFor[*corev1.Pod](t, podKind, a)
	return func(t testing.TB, _ []byte) []*corev1.Pod {
		out, err := listed(t, c)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
}

// clientWatch is the Watch of our client.
func clientWatch(t testing.TB, a answers) way {
	c := clientFor[*corev1.Pod](t, podKind, a)
	return func(t testing.TB, _ []byte) []*corev1.Pod {
		out, err := watched(t, c)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
}

func podPlan(t testing.TB) *kubeproto.Plan {
	plan, err := kubeproto.Compile(reflect.TypeFor[corev1.Pod]())
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func planList(t testing.TB, o kubeproto.Options) way {
	plan := podPlan(t)
	return protobufList(func(item []byte, pod *corev1.Pod) error { return plan.Decode(item, pod, o) })
}

// protobufList reads a list with the reader of lists, and each pod with decode.
func protobufList(decode func(item []byte, pod *corev1.Pod) error) way {
	return func(t testing.TB, body []byte) []*corev1.Pod {
		list := kubeproto.NewListReader(bytes.NewReader(body), 0)
		out := make([]*corev1.Pod, 0, benchPods)
		for {
			item, err := list.Next()
			if err == io.EOF {
				return out
			}
			pod := new(corev1.Pod)
			if err == nil {
				err = decode(item, pod)
			}
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, pod)
		}
	}
}

func planWatch(t testing.TB, o kubeproto.Options) way {
	plan := podPlan(t)
	return func(t testing.TB, body []byte) []*corev1.Pod {
		frames := kubeproto.NewFrameReader(bytes.NewReader(body), 0)
		out := make([]*corev1.Pod, 0, benchPods)
		for {
			frame, err := frames.Next()
			if err == io.EOF {
				return out
			}
			if err != nil {
				t.Fatal(err)
			}
			pod, err := planEvent(plan, frame, o)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, pod)
		}
	}
}

func planEvent(plan *kubeproto.Plan, frame []byte, o kubeproto.Options) (*corev1.Pod, error) {
	event, err := kubeproto.ParseWatchEvent(frame)
	if err != nil {
		return nil, err
	}
	object, err := kubeproto.ParseEnvelope(event.Object)
	if err != nil {
		return nil, err
	}
	pod := new(corev1.Pod)
	return pod, plan.Decode(object.Raw, pod, o)
}

// TestWays decodes every body once, because benchmarks are seldom run.
func TestWays(t *testing.T) {
	list := pods.List(200)
	o := kubeproto.Options{Strings: kubeproto.NewStrings(0)}
	for _, e := range encodings {
		requirePods(t, clientGoList(t, e.mediaType)(t, encode(t, podKind, e.mediaType, list)), list)
		requirePods(t, clientGoWatch(e.mediaType)(t, eventsBody(t, podKind, e.mediaType, podsOf(list))), list)
	}
	requirePods(t, generatedList(o.Strings)(t, encode(t, podKind, apiruntime.ContentTypeProtobuf, list)), list)
	requirePods(t, planList(t, o)(t, encode(t, podKind, apiruntime.ContentTypeProtobuf, list)), list)
	requirePods(t, planWatch(t, o)(t, eventsBody(t, podKind, apiruntime.ContentTypeProtobuf, podsOf(list))), list)
}
