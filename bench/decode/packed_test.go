package decode

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinform/kinform/bench/internal/pods"
	"github.com/kinform/kinform/internal/kubeproto"
	"github.com/kinform/kinform/internal/packed"
)

// TestPackedObjects packs random objects of all types. What comes out is equal, in memory that the caller may change.
func TestPackedObjects(t *testing.T) {
	for _, k := range knownTypes(t) {
		codec, err := packed.Of(reflect.PointerTo(k.typ))
		if err != nil {
			t.Fatal(err)
		}
		for seed := *firstSeed; seed < *firstSeed+*seeds; seed++ {
			data := encoded(k, filler(seed))
			if data == nil {
				continue
			}
			want := k.fresh()
			if err := want.Unmarshal(data); err != nil {
				t.Fatal(err)
			}
			if meta := reflect.ValueOf(want).Elem().FieldByName("TypeMeta"); meta.IsValid() && seed%2 == 0 {
				meta.Set(reflect.ValueOf(metav1.TypeMeta{APIVersion: k.gvk.GroupVersion().String(), Kind: k.gvk.Kind}))
			}
			bytes, err := codec.Pack(want)
			_, object := k.typ.FieldByName("ObjectMeta")
			data, _ = want.Marshal()
			if err != nil || object && len(bytes) > len(data)+len(k.gvk.GroupVersion().String()+k.gvk.Kind)+3 { // more than in protobuf
				t.Fatalf("%v, seed %d: %d bytes of %d, %v", k.gvk, seed, len(bytes), len(data), err)
			}
			requireOwned(t, fmt.Sprintf("%v, seed %d", k.gvk, seed), codec, bytes, want)
		}
	}
}

// TestPackedUntyped does the same with unstructured objects of all types.
func TestPackedUntyped(t *testing.T) {
	codec, err := packed.Of(reflect.TypeFor[*unstructured.Unstructured]())
	if err != nil {
		t.Fatal(err)
	}
	done := 0
	for _, k := range knownTypes(t) {
		for seed := *firstSeed; seed < *firstSeed+*seeds; seed++ {
			in := k.fresh()
			filler(seed).Fill(in)
			text, err := json.Marshal(in)
			if err != nil {
				continue // randfill knows only the rules of metadata
			}
			done++
			want := &unstructured.Unstructured{Object: map[string]any{}}
			if want.Object, err = jsonObject(text); err != nil {
				t.Fatal(err)
			}
			bytes, err := codec.Pack(want)
			if err != nil {
				t.Fatalf("%v, seed %d: %v", k.gvk, seed, err)
			}
			requireOwned(t, fmt.Sprintf("%v, seed %d", k.gvk, seed), codec, bytes, want)
		}
	}
	if done < 200 {
		t.Errorf("%d objects only", done)
	}
}

func jsonObject(text []byte) (map[string]any, error) {
	var u unstructured.Unstructured
	err := runtime.DecodeInto(unstructured.UnstructuredJSONScheme, []byte(`{"kind":"K","apiVersion":"v1","object":`+string(text)+`}`), &u)
	if err != nil {
		return nil, err
	}
	object, _ := u.Object["object"].(map[string]any)
	return object, nil
}

// requireOwned unpacks bytes twice, and changes all of the first object. Neither the second one nor the bytes change.
func requireOwned[T any](t *testing.T, name string, codec packed.Codec, bytes string, want T) {
	t.Helper()
	before := strings.Clone(bytes)
	unpack := func() any {
		to := reflect.New(reflect.TypeOf(want))
		if err := codec.Unpack(bytes, to.Interface()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return to.Elem().Interface()
	}
	first, second := unpack(), unpack()
	requireEqual(t, name, first, want)
	scribble(reflect.ValueOf(first))
	if bytes != before {
		t.Fatalf("%s: the bytes changed", name)
	}
	requireEqual(t, name+", after a change of another one", second, want)
	requireEqual(t, name+", after a change of an earlier one", unpack(), want)
}

// BenchmarkPacked packs and unpacks pods of a list, and compares with what else there is. A pod has 4.5 KB of JSON.
func BenchmarkPacked(b *testing.B) {
	list, plan := pods.List(2000), mustPlan(b)
	for i := range list.Items {
		list.Items[i].ManagedFields = nil
	}
	bodies := encodePods(list)
	pack := func(b *testing.B, obj any) (packed.Codec, string) {
		codec, err := packed.Of(reflect.TypeOf(obj))
		if err != nil {
			b.Fatal(err)
		}
		bytes, err := codec.Pack(obj)
		if err != nil {
			b.Fatal(err)
		}
		return codec, bytes
	}
	type asJSON corev1.Pod // has no methods
	pod, text, untyped := new(corev1.Pod), new(asJSON), new(unstructured.Unstructured)
	if err := plan.Decode(bodies[0], pod, kubeproto.Options{}); err != nil {
		b.Fatal(err)
	}
	*text = asJSON(*pod)
	untyped.Object, _ = runtime.DefaultUnstructuredConverter.ToUnstructured(pod)

	protobuf, bytes := pack(b, pod)
	run(b, "protobuf/pack", len(bytes), func(int) { _, _ = protobuf.Pack(pod) })
	run(b, "protobuf/unpack", len(bytes), func(int) { packed.Open[*corev1.Pod](protobuf, bytes) })
	run(b, "protobuf/deepcopy", 0, func(int) { pod.DeepCopy() })
	run(b, "protobuf/generated", 0, func(i int) { _ = new(corev1.Pod).Unmarshal(bodies[i%len(bodies)]) })
	run(b, "protobuf/plan", 0, func(i int) { _ = plan.Decode(bodies[i%len(bodies)], new(corev1.Pod), kubeproto.Options{}) })
	run(b, "protobuf/plan+alias", 0, func(i int) { _ = plan.Decode(bodies[i%len(bodies)], new(corev1.Pod), kubeproto.Options{Alias: true}) })

	asText, bytes2 := pack(b, text)
	run(b, "json/pack", len(bytes2), func(int) { _, _ = asText.Pack(text) })
	run(b, "json/unpack", len(bytes2), func(int) { packed.Open[*asJSON](asText, bytes2) })

	tree, bytes3 := pack(b, untyped)
	run(b, "unstructured/pack", len(bytes3), func(int) { _, _ = tree.Pack(untyped) })
	run(b, "unstructured/unpack", len(bytes3), func(int) { packed.Open[*unstructured.Unstructured](tree, bytes3) })
	run(b, "unstructured/deepcopy", 0, func(int) { untyped.DeepCopy() })
	body, err := untyped.MarshalJSON()
	if err != nil {
		b.Fatal(err)
	}
	run(b, "unstructured/marshaljson", len(body), func(int) { _, _ = untyped.MarshalJSON() })
	run(b, "unstructured/unmarshaljson", 0, func(int) { _ = new(unstructured.Unstructured).UnmarshalJSON(body) })
}

func mustPlan(b *testing.B) *kubeproto.Plan {
	plan, err := kubeproto.Compile(reflect.TypeFor[corev1.Pod]())
	if err != nil {
		b.Fatal(err)
	}
	return plan
}

// run measures one call, and says how long its bytes are.
func run(b *testing.B, name string, size int, f func(i int)) {
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		n, start := 0, cpuTime()
		for b.Loop() {
			f(n)
			n++
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(cpuTime()-start)/float64(n), "cpu-ns")
		b.ReportMetric(float64(size), "bytes")
	})
}
