package decode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var widgetKind = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}

// event is one line of a watch.
func event(object string) []byte { return []byte(`{"type":"ADDED","object":` + object + "}\n") }

// unstructuredBoth decodes one object with our client and with apimachinery's serializer.
func unstructuredBoth(t testing.TB, object string) (got, want map[string]any, err, wantErr error) {
	t.Helper()
	decoded, wantErr := runtime.Decode(unstructured.UnstructuredJSONScheme, []byte(object))
	if wantErr == nil {
		want = decoded.(*unstructured.Unstructured).Object
	}
	all, err := watch[*unstructured.Unstructured](t, widgetKind, answers{runtime.ContentTypeJSON, event(object)})
	if err == nil {
		got = all[0].Object
	}
	return got, want, err, wantErr
}

// typedBoth does the same with a pod.
func typedBoth(t testing.TB, object string) (got, want *corev1.Pod, err, wantErr error) {
	t.Helper()
	decoder, err := negotiator(podKind).Decoder(runtime.ContentTypeJSON, nil)
	if err != nil {
		t.Fatal(err)
	}
	decoded, wantErr := runtime.Decode(decoder, []byte(object))
	if wantErr == nil {
		want = decoded.(*corev1.Pod)
	}
	all, err := watch[*corev1.Pod](t, podKind, answers{runtime.ContentTypeJSON, event(object)})
	if err == nil {
		got = all[0]
	}
	return got, want, err, wantErr
}

// values are possible values of a field, for places of every type.
var values = []string{
	`null`, `true`, `0`, `-0`, `1`, `1.0`, `1.5`, `-1`, `1e2`, `1E400`, `1e-400`, `9223372036854775807`, `9223372036854775808`, `-9223372036854775808`,
	`-9223372036854775809`, `18446744073709551616`, `0.1`, `100000000000000000000000`, `""`, `"x"`, `"1"`, `"a\u0000b"`, `"\ud83d\ude00"`, `"\ud800"`,
	`"<&>"`, `"2020-01-01T00:00:00Z"`, `"2020-01-01T00:00:00.123456Z"`, `"aGVsbG8="`, `"aGVs\nbG8="`, `"not base64!"`, `[]`, `[null]`, `["a",null,"b"]`, `[1]`, `[[]]`,
	`{}`, `{"a":"b"}`, `{"a":null}`, `{"a":1}`, `{"a":{"b":null}}`, `{"":""}`,
}

func TestUnstructuredValues(t *testing.T) {
	for _, v := range values {
		for _, object := range []string{
			`{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"a","resourceVersion":"1"},"spec":%s}`,
			`{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"a","resourceVersion":"1"},"spec":[1,{"x":%s}]}`,
			`{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"a","resourceVersion":"1","labels":%s}}`,
			`{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"a","resourceVersion":"1"},"x":1,"x":%s}`,
			`{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"a","resourceVersion":"1"},"Spec":%[1]s,"spec":%[1]s}`,
		} {
			object = fmt.Sprintf(object, v)
			t.Run("", func(t *testing.T) {
				got, want, err, wantErr := unstructuredBoth(t, object)
				if (err == nil) != (wantErr == nil) {
					t.Fatalf("%s: error %v, of apimachinery %v", object, err, wantErr)
				}
				if err == nil {
					requireEqual(t, object, got, want)
				}
			})
		}
	}
}

// podMembers are places in a pod, of every type that Kubernetes has.
var podMembers = []string{
	`"metadata":{"name":"a","resourceVersion":"1","labels":%s}`,
	`"metadata":{"name":"a","resourceVersion":"1","creationTimestamp":%s}`,
	`"metadata":{"name":"a","resourceVersion":"1","deletionTimestamp":%s}`,
	`"metadata":{"name":"a","resourceVersion":"1","deletionGracePeriodSeconds":%s}`,
	`"metadata":{"name":"a","resourceVersion":"1","generation":%s}`,
	`"metadata":{"name":"a","resourceVersion":"1","finalizers":%s}`,
	`"metadata":{"name":"a","resourceVersion":"1","managedFields":[{"fieldsV1":%s}]}`,
	`"spec":%s`, `"spec":{"containers":%s}`, `"spec":{"containers":[%s]}`, `"spec":{"containers":[{"resources":{"limits":%s}}]}`,
	`"spec":{"containers":[{"resources":{"limits":{"cpu":%s}}}]}`, `"spec":{"containers":[{"livenessProbe":{"httpGet":{"port":%s}}}]}`,
	`"spec":{"nodeName":%s}`, `"spec":{"hostNetwork":%s}`, `"spec":{"priority":%s}`, `"spec":{"terminationGracePeriodSeconds":%s}`,
	`"spec":{"securityContext":%s}`, `"spec":{"nodeSelector":%s}`, `"status":{"startTime":%s}`, `"status":{"phase":%s}`,
	`"Status":{"phase":%s}`, `"SPEC":%s`, `"unknown":%s`, `"spec":{"NodeName":%s}`, `"spec":{"nodeName":"x","nodename":%s}`,
	`"spec":{"nodeName":"x","nodeName":%s}`, `"spec":{"nodeName":"x"},"spec":%s`, `"spec":{"nodeSelector":{"a":"x"},"nodeSelector":%s}`,
	`"spec":{"containers":[{"name":"x"},{"name":"y"}],"containers":%s}`, `"spec":{"nodeSelector":{"a":"x","a":%s}}`,
	`"spec":{"priority":5,"priority":%s}`, `"spec":{"securityContext":{"runAsUser":1},"securityContext":%s}`,
}

func TestTypedValues(t *testing.T) {
	refused := 0
	for _, member := range podMembers {
		for _, v := range values {
			object := `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"1"},` + fmt.Sprintf(member, v) + `}`
			t.Run("", func(t *testing.T) {
				got, want, err, wantErr := typedBoth(t, object)
				if (err == nil) != (wantErr == nil) {
					t.Fatalf("%s: error %v, of apimachinery %v", object, err, wantErr)
				}
				if err != nil {
					refused++
					return
				}
				got.TypeMeta = metav1.TypeMeta{} // which client-go removes
				requireEqual(t, object, got, want)
			})
		}
	}
	if refused == 0 {
		t.Error("nothing was refused")
	}
}

// TestRandomUnstructured compares random trees, in one line and spread over many.
func TestRandomUnstructured(t *testing.T) {
	for seed := range int64(300) {
		r := rand.New(rand.NewSource(seed))
		object := fmt.Sprintf(`{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"a","resourceVersion":"1"},"spec":%s,"status":%s}`,
			tree(r, 5), tree(r, 5))
		if seed%2 == 0 {
			var spread bytes.Buffer
			if err := json.Indent(&spread, []byte(object), "", "\t"); err != nil {
				t.Fatal(err)
			}
			object = spread.String()
		}
		got, want, err, wantErr := unstructuredBoth(t, object)
		if err != nil || wantErr != nil {
			t.Fatalf("seed %d: %v, %v: %s", seed, err, wantErr, object)
		}
		requireEqual(t, fmt.Sprintf("seed %d", seed), got, want)
	}
}

// tree is a random JSON value without what Go cannot represent.
func tree(r *rand.Rand, depth int) string {
	n := r.Intn(4)
	switch kind := r.Intn(8); {
	case depth > 0 && kind < 3:
		var members []string
		for range n {
			members = append(members, fmt.Sprintf("%q:%s", []string{"a", "A", "b c", "é", ""}[r.Intn(5)], tree(r, depth-1)))
		}
		return "{" + strings.Join(members, ",") + "}"
	case depth > 0 && kind < 5:
		var elements []string
		for range n {
			elements = append(elements, tree(r, depth-1))
		}
		return "[" + strings.Join(elements, ",") + "]"
	case kind == 5:
		return fmt.Sprint(r.Int63() - r.Int63())
	case kind == 6:
		return fmt.Sprint(r.NormFloat64() * 1e10)
	}
	for {
		if v := values[r.Intn(30)]; v != "1E400" && !strings.Contains(v, `\ud800`) {
			return v
		}
	}
}
