package fake_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
)

// app has lists that merge and lists that do not, as generated types have.
type app struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              appSpec   `json:"spec"`
	Status            appStatus `json:"status,omitzero"`
}

type appSpec struct {
	Replicas   *int32              `json:"replicas,omitempty"`
	Containers []appContainer      `json:"containers,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	Args       []string            `json:"args,omitempty"`
	Groups     []string            `json:"groups,omitempty" patchStrategy:"merge"`
	Max        *intstr.IntOrString `json:"max,omitempty"`
	Since      *metav1.Time        `json:"since,omitempty"`
	Data       []byte              `json:"data,omitempty"`
	On         bool                `json:"on,omitempty"`
	Extra      map[string]string   `json:"extra,omitempty"`
	Inner      *appSpec            `json:"inner,omitempty"`
}

type appContainer struct {
	Name  string    `json:"name"`
	Image string    `json:"image,omitempty"`
	Ports []appPort `json:"ports,omitempty" patchStrategy:"merge" patchMergeKey:"containerPort"`
}

type appPort struct {
	ContainerPort int32  `json:"containerPort"`
	Protocol      string `json:"protocol,omitempty"`
}

type appStatus struct {
	Phase string `json:"phase,omitempty"`
}

func (a *app) DeepCopyObject() runtime.Object {
	c, b := &app{}, []byte(nil)
	b, err := json.Marshal(a)
	if err == nil {
		err = json.Unmarshal(b, c)
	}
	if err != nil {
		panic(err)
	}
	return c
}

func appServer(t testing.TB, opts fake.Options) (*fake.Server, *client.Resource[*app]) {
	t.Helper()
	s := fake.New(opts)
	k := kind.Of[*app](schema.GroupVersion{Group: "apps", Version: "v1"}, "apps").WithSubresources("status")
	check(t, fake.Register(s, k, fake.Rules{}))
	return s, clientOf(t, s, k, "a")
}

func specOf(t testing.TB, a *app) string {
	t.Helper()
	return string(must(json.Marshal(a.Spec))(t))
}

func TestPatchTypes(t *testing.T) {
	for _, c := range []struct {
		kind        types.PatchType
		patch, want string
	}{
		{types.JSONPatchType, `[{"op":"add","path":"/spec/args/-","value":"z"},{"op":"remove","path":"/spec/containers/0"}]`,
			`{"replicas":1,"containers":[{"name":"two","image":"i2"}],"args":["x","y","z"],"groups":["g"]}`},
		{types.JSONPatchType, `[{"op":"test","path":"/spec/replicas","value":1},{"op":"replace","path":"/spec","value":{"replicas":9007199254740993}}]`, ""},
		{types.JSONPatchType, `[{"op":"move","from":"/spec/args","path":"/spec/groups"}]`, `{"replicas":1,"containers":[{"name":"one","image":"i1"},{"name":"two","image":"i2"}],"groups":["x","y"]}`},
		{types.MergePatchType, `{"spec":{"replicas":null,"args":["z"],"containers":[{"name":"three"}],"extra":{"a":"b"}}}`,
			`{"containers":[{"name":"three"}],"args":["z"],"groups":["g"],"extra":{"a":"b"}}`},
		{types.StrategicMergePatchType, `{"spec":{"args":["z"],"groups":["h"],"containers":[{"name":"two","image":"i3"},{"name":"three"}]}}`,
			`{"replicas":1,"containers":[{"name":"one","image":"i1"},{"name":"two","image":"i3"},{"name":"three"}],"args":["z"],"groups":["h","g"]}`},
		{types.StrategicMergePatchType, `{"spec":{"containers":[{"name":"one","$patch":"delete"}],"$deleteFromPrimitiveList/groups":["g"]}}`,
			`{"replicas":1,"containers":[{"name":"two","image":"i2"}],"args":["x","y"]}`},
		{types.StrategicMergePatchType, `{"spec":{"$retainKeys":["args"],"args":["z"]}}`, `{"args":["z"]}`},
		{types.StrategicMergePatchType, `{"spec":{"$retainKeys":["args"],"groups":["z"]}}`, ""},
	} {
		t.Run(fmt.Sprint(c.kind, c.patch), func(t *testing.T) {
			s, client := appServer(t, fake.Options{})
			one, in := int32(1), &app{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p"}}
			in.Spec = appSpec{Replicas: &one, Args: []string{"x", "y"}, Groups: []string{"g"}, Containers: []appContainer{{Name: "one", Image: "i1"}, {Name: "two", Image: "i2"}}}
			must(fake.Create(s, in))(t)
			got, err := client.Patch(t.Context(), key("a", "p"), c.kind, []byte(c.patch), metav1.PatchOptions{})
			if c.want == "" {
				if statusOf(err).Code == 0 {
					t.Errorf("error %v, want a Status; got %s", err, specOf(t, got))
				}
				return
			}
			check(t, err)
			if d := cmp.Diff(c.want, specOf(t, got)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if got.Generation != 2 {
				t.Errorf("generation %d", got.Generation)
			}
		})
	}
}

// TestPatchCopiesAreLimited doubles an object again and again, which takes few bytes to ask
// for. The API server stops at three megabytes, however the copies are mixed with others.
func TestPatchCopiesAreLimited(t *testing.T) {
	s := fake.New(fake.Options{})
	k := kind.Of[*unstructured.Unstructured](exampleV1, "widgets").Named("Widget")
	check(t, fake.Register(s, k, fake.Rules{}))
	c := clientOf(t, s, k, "a")
	w := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"x": strings.Repeat("x", 100_000)}}}
	w.SetName("w")
	was := must(c.Create(t.Context(), w, metav1.CreateOptions{}))(t)
	doubled := func(n int, mixed string) []byte {
		var ops []string
		for i := range n {
			ops = append(ops, fmt.Sprintf(`{"op":"copy","from":"/spec","path":"/spec/c%d"}`, i)+mixed)
		}
		return []byte("[" + strings.Join(ops, ",") + "]")
	}
	for _, n := range []int{6, 200} {
		for _, mixed := range []string{"", `,{"op":"add","path":"/y","value":1}`} {
			_, err := c.Patch(t.Context(), key("a", "w"), types.JSONPatchType, doubled(n, mixed), metav1.PatchOptions{})
			wantStatus(t, err, 422, metav1.StatusReasonInvalid)
		}
	}
	if got := must(c.Get(t.Context(), key("a", "w"), metav1.GetOptions{}))(t); got.GetResourceVersion() != was.GetResourceVersion() {
		t.Errorf("refused patches wrote: %s to %s", was.GetResourceVersion(), got.GetResourceVersion())
	}
	got := must(c.Patch(t.Context(), key("a", "w"), types.JSONPatchType, doubled(2, `,{"op":"copy","from":"/metadata/name","path":"/z"}`), metav1.PatchOptions{}))(t)
	if b := must(json.Marshal(got.Object["spec"]))(t); len(b) < 400_000 || got.Object["z"] != "w" {
		t.Errorf("two copies made %d bytes, z %v", len(b), got.Object["z"])
	}
}

// TestPatchesOnWhichLibrariesPanic: a patch is data, and cannot end the process.
func TestPatchesOnWhichLibrariesPanic(t *testing.T) {
	s, c := appServer(t, fake.Options{})
	must(fake.Create(s, &app{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p"}, Spec: appSpec{Containers: []appContainer{{Name: "a"}}, Args: []string{"x"}}}))(t)
	for patch, kind := range map[string]types.PatchType{
		`{"spec":{"containers":[{"name":{}}]}}`:              types.StrategicMergePatchType,
		`[{"op":"replace","path":""}]`:                       types.JSONPatchType,
		`[{"op":"test","path":""}]`:                          types.JSONPatchType,
		`[{"op":"test","path":"/spec/args","value":[null]}]`: types.JSONPatchType,
	} {
		_, err := c.Patch(t.Context(), key("a", "p"), kind, []byte(patch), metav1.PatchOptions{})
		wantStatus(t, err, 500, metav1.StatusReasonInternalError)
	}
}

func TestPatchRefusals(t *testing.T) {
	s, c := appServer(t, fake.Options{})
	must(fake.Create(s, &app{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p"}, Spec: appSpec{Containers: []appContainer{{Name: "one"}}}}))(t)
	many := "[" + strings.Repeat(`{"op":"test","path":"/kind","value":"App"},`, 10_000) + `{"op":"test","path":"/kind","value":"App"}]`
	for _, d := range []struct {
		kind    types.PatchType
		patch   string
		code    int32
		message string
	}{
		{types.JSONPatchType, `{`, 400, "invalid JSON patch"},
		{types.JSONPatchType, `{}`, 400, "json: cannot unmarshal object into Go value of type jsonpatch.Patch"},
		{types.JSONPatchType, many, 413, "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"},
		{types.JSONPatchType, `[{"op":"replace","path":"/spec/args/0","value":"x"}]`, 422, "the server rejected our request due to an error in our request"},
		{types.JSONPatchType, `[{"op":"test","path":"/kind","value":"Pod"}]`, 422, "the server rejected our request due to an error in our request"},
		{types.JSONPatchType, `[{"op":"replace","path":"/metadata/namespace","value":"b"}]`, 400, "the namespace of the provided object does not match the namespace sent on the request"},
		{types.JSONPatchType, `[{"op":"remove","path":"/metadata/name"}]`, 400, "the name of the object (p based on URL) was undeterminable: name must be provided"},
		{types.JSONPatchType, `[{"op":"replace","path":"/metadata/uid","value":"x"}]`, 422, `App.apps "p" is invalid: metadata.uid: Invalid value: "x": field is immutable`},
		{types.JSONPatchType, `[{"op":"replace","path":"/metadata/resourceVersion","value":"1"}]`, 409, ""},
		{types.MergePatchType, `[]`, 400, "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"},
		{types.MergePatchType, `null`, 400, "Invalid JSON Patch"},
		{types.StrategicMergePatchType, `[]`, 400, ""},
		{types.StrategicMergePatchType, `{"spec":{"containers":[{"image":"x"}]}}`, 500, "map: map[image:x] does not contain declared merge key: name"},
		{types.StrategicMergePatchType, `{"spec":{"args":7}}`, 422, ` "" is invalid: patch: Invalid value: "map[spec:map[args:7]]": cannot restore slice from int64`},
		{types.MergePatchType, `{"spec":{"args":7}}`, 422, ""},
		{"text/plain", `{}`, 415, "415: Unsupported Media Type"},
	} {
		t.Run(fmt.Sprint(d.kind, d.patch[:min(60, len(d.patch))]), func(t *testing.T) {
			_, err := c.Patch(t.Context(), key("a", "p"), d.kind, []byte(d.patch), metav1.PatchOptions{})
			if st := statusOf(err); st.Code != d.code || d.message != "" && st.Message != d.message {
				t.Errorf("%d %q, want %d %q", st.Code, st.Message, d.code, d.message)
			}
			code, body := request(t, s, "PATCH", "/apis/apps/v1/namespaces/a/apps/p", string(d.kind), d.patch)
			var st metav1.Status
			check(t, json.Unmarshal(body, &st))
			if want := statusOf(err); int32(code) != d.code || st.Message != want.Message || st.Reason != want.Reason {
				t.Errorf("HTTP says %d %s", code, body)
			}
		})
	}
	if s.ResourceVersion() != "2" {
		t.Error("a refused patch wrote")
	}
}

func TestPatchOfCustomResources(t *testing.T) {
	s := statusServer(t, fake.Options{})
	must(fake.Create(s, &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"namespace": "a", "name": "j"}}}))(t)
	c := clientOf(t, s, jobKind, "")
	_, err := c.Patch(t.Context(), key("a", "j"), types.StrategicMergePatchType, []byte(`{}`), metav1.PatchOptions{})
	const want = "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
	if st := wantStatus(t, err, 415, metav1.StatusReasonUnsupportedMediaType); st.Message != want {
		t.Errorf("message %q", st.Message)
	}
	got := must(c.Patch(t.Context(), key("a", "j"), types.JSONPatchType, []byte(`[{"op":"add","path":"/spec","value":{"n":9007199254740993}}]`), metav1.PatchOptions{}))(t)
	if n, _, _ := unstructured.NestedInt64(got.Object, "spec", "n"); n != 9007199254740993 {
		t.Errorf("the number became %d", n)
	}
}
