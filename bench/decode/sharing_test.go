package decode

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/bench/internal/pods"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
)

// forCache returns a client whose objects share equal parts, as a reflector reads them.
func forCache[T any](c *client.Resource[T]) *client.Resource[T] {
	return c.Relist(c, nil).(*client.Resource[T])
}

// collection is a server in the process: requests for the collection get a list, and others an object.
type collection struct{ list, object answers }

func (c collection) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/pods") {
		return c.list.RoundTrip(r)
	}
	return c.object.RoundTrip(r)
}

// scribble changes everything that v holds or points to, but for unexported fields.
func scribble(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			scribble(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				scribble(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			scribble(v.Index(i))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			changed := reflect.New(v.Type().Elem()).Elem()
			changed.Set(v.MapIndex(k))
			scribble(changed)
			v.SetMapIndex(k, changed)
		}
	case reflect.String:
		v.SetString(v.String() + "!")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(v.Uint() ^ 1)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(v.Float() + 1)
	case reflect.Interface:
		if !v.IsNil() {
			changed := reflect.New(v.Elem().Type()).Elem()
			changed.Set(v.Elem())
			scribble(changed)
			v.Set(changed)
		}
	}
}

// TestCallersOwnTheirObjects: whatever a caller writes to objects that a client returned, the objects that a
// reflector got from the same client stay as they are. A goroutine reads them all the while, for the race detector.
func TestCallersOwnTheirObjects(t *testing.T) {
	all := pods.List(64)
	one := all.Items[0].DeepCopy()
	for i := range all.Items { // as alike as can be
		one.DeepCopyInto(&all.Items[i])
		all.Items[i].Name = fmt.Sprint("pod-", i)
	}
	one.SetGroupVersionKind(podKind)
	for _, e := range encodings {
		server := collection{answers{e.mediaType, encode(t, podKind, e.mediaType, all)}, answers{e.mediaType, encode(t, podKind, e.mediaType, one)}}
		c, err := client.New(client.Connection{URL: "http://server.invalid", HTTP: &http.Client{Transport: server}},
			kind.Of[*corev1.Pod](corev1.SchemeGroupVersion, "pods"), client.Options{ShareJSON: true})
		if err != nil {
			t.Fatal(err)
		}
		cached, err := listed(t, forCache(c))
		if err != nil {
			t.Fatal(err)
		}
		if a, b := cached[50], cached[60]; &a.Spec.Containers[0].Env[0] != &b.Spec.Containers[0].Env[0] {
			t.Errorf("%s: pods of a cache share nothing", e.name)
		}
		var want []*corev1.Pod
		for _, p := range cached {
			want = append(want, p.DeepCopy())
		}
		stop, reading := make(chan struct{}), sync.WaitGroup{}
		reading.Go(func() {
			for done := false; !done; {
				select {
				case <-stop:
					done = true
				default:
				}
				for i, p := range cached {
					if !reflect.DeepEqual(p, want[i]) {
						t.Errorf("%s: cached pod %d has changed", e.name, i)
						return
					}
				}
			}
		})
		key, pod := types.NamespacedName{Namespace: one.Namespace, Name: one.Name}, func() *corev1.Pod { return one.DeepCopy() }
		for range 20 { // often enough for sharing to begin
			for what, call := range map[string]func() (*corev1.Pod, error){
				"get":    func() (*corev1.Pod, error) { return c.Get(t.Context(), key, metav1.GetOptions{}) },
				"create": func() (*corev1.Pod, error) { return c.Create(t.Context(), pod(), metav1.CreateOptions{}) },
				"update": func() (*corev1.Pod, error) { return c.Update(t.Context(), pod(), metav1.UpdateOptions{}) },
				"status": func() (*corev1.Pod, error) { return c.UpdateStatus(t.Context(), pod(), metav1.UpdateOptions{}) },
				"patch": func() (*corev1.Pod, error) {
					return c.Patch(t.Context(), key, types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})
				},
			} {
				got, err := call()
				if err != nil {
					t.Fatalf("%s: %s: %v", e.name, what, err)
				}
				scribble(reflect.ValueOf(got))
			}
		}
		for got, err := range c.Items(t.Context(), metav1.ListOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			scribble(reflect.ValueOf(got))
		}
		mapped := reflector.Map(reflector.Source[*corev1.Pod](c), func(p *corev1.Pod) (*corev1.Pod, error) {
			scribble(reflect.ValueOf(p))
			return p, nil
		})
		if _, err := mapped.List(t.Context(), metav1.ListOptions{}, func(reflector.Event[*corev1.Pod], error) bool { return true }); err != nil {
			t.Fatal(err)
		}
		close(stop)
		reading.Wait()
	}
}

// BenchmarkSharing syncs collections with and without shared parts: pods that are alike, and objects that have
// nothing in common.
func BenchmarkSharing(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	var maps []apiruntime.Object
	for i := range benchPods {
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: fmt.Sprint(i), UID: types.UID(fmt.Sprint(i))}, Data: map[string]string{}}
		for range 5 {
			m.Data[fmt.Sprint(r.Uint64())] = strings.Repeat(fmt.Sprint(r.Uint64()), 10)
		}
		maps = append(maps, m)
	}
	pod, configMap := objectType{reflect.TypeFor[corev1.Pod](), podKind}, objectType{reflect.TypeFor[corev1.ConfigMap](), corev1.SchemeGroupVersion.WithKind("ConfigMap")}
	for _, s := range []struct {
		name    string
		of      objectType
		objects []apiruntime.Object
	}{{"alike", pod, podsOf(pods.List(benchPods))}, {"unlike", configMap, maps}} {
		for _, e := range encodings {
			a := answers{watchType(e.mediaType), eventsBody(b, s.of.gvk, e.mediaType, s.objects)}
			for _, share := range []bool{false, true} {
				b.Run(fmt.Sprintf("%s/%s/share=%v", s.name, e.name, share), func(b *testing.B) {
					b.ReportAllocs()
					n, start := 0, cpuTime()
					for b.Loop() {
						c := s.of.client(b, a, client.Options{ShareJSON: true})
						if share {
							c = forCache(c)
						}
						all, err := watched(b, c)
						if err != nil {
							b.Fatal(err)
						}
						n += len(all)
					}
					b.ReportMetric(float64(cpuTime()-start)/float64(n), "cpu-ns/object")
				})
			}
		}
	}
}
