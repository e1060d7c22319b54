package fake_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
)

const appHead = "apiVersion: apps/v1\nkind: App\nmetadata: {name: p}\n"

func applyApp(t testing.TB, c *client.Resource[*app], manager, yaml string, force bool) (*app, error) {
	t.Helper()
	return c.Patch(t.Context(), key("", "p"), types.ApplyYAMLPatchType, []byte(appHead+yaml), metav1.PatchOptions{FieldManager: manager, Force: &force})
}

// owners returns the owners of the fields, one line for each entry.
func owners(obj metav1.Object) (out []string) {
	for _, e := range obj.GetManagedFields() {
		out = append(out, strings.TrimSpace(fmt.Sprintln(e.Manager, e.Operation, e.Subresource, string(e.FieldsV1.GetRawBytes()))))
	}
	return out
}

func TestApply(t *testing.T) {
	began := time.Now()
	s, c := appServer(t, fake.Options{Now: func() time.Time { return began }}) // entries are ordered by time first
	got := must(applyApp(t, c, "one", "spec: {replicas: 1, containers: [{name: a, image: i1, ports: [{containerPort: 1}]}], max: 5%}", false))(t)
	if got.ResourceVersion != "2" || got.Generation != 1 || got.UID == "" || got.Namespace != "a" {
		t.Errorf("created %+v", got.ObjectMeta)
	}
	again := must(applyApp(t, c, "one", "spec: {replicas: 1, containers: [{name: a, image: i1, ports: [{containerPort: 1}]}], max: 5%}", false))(t)
	if again.ResourceVersion != "2" {
		t.Errorf("an apply of the same wrote %s", again.ResourceVersion)
	}
	// Another manager adds its own item, and shares a value that is equal.
	must(applyApp(t, c, "two", "spec: {replicas: 1, containers: [{name: b, image: i2}], groups: [g]}", false))(t)
	// The first gives up its port and the shared value, which stays the second's.
	got = must(applyApp(t, c, "one", "spec: {containers: [{name: a, image: i1}]}", false))(t)
	if want, have := `{"replicas":1,"containers":[{"name":"a","image":"i1"},{"name":"b","image":"i2"}],"groups":["g"]}`, specOf(t, got); want != have {
		t.Errorf("merged to %s", have)
	}
	want := []string{
		`one Apply  {"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{".":{},"f:image":{},"f:name":{}}}}}`,
		`two Apply  {"f:spec":{"f:containers":{"k:{\"name\":\"b\"}":{".":{},"f:image":{},"f:name":{}}},"f:groups":{"v:\"g\"":{}},"f:replicas":{}}}`,
	}
	if d := cmp.Diff(want, owners(got)); d != "" {
		t.Errorf("owners (-want +got):\n%s", d)
	}
	if got := s.ResourceVersion(); got != "4" {
		t.Errorf("server at %s", got)
	}
}

// TestApplyThatChangesNothing: an apply that changes nothing writes nothing, although it states fields that
// are not its own to write.
func TestApplyThatChangesNothing(t *testing.T) {
	clock := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s, c := appServer(t, fake.Options{Now: func() time.Time { return clock }})
	for _, config := range []string{
		appHead + "spec: {replicas: 1}",
		"apiVersion: apps/v1\nkind: App\nmetadata: {name: p, creationTimestamp: null}\nspec: {replicas: 1}",
		"apiVersion: apps/v1\nkind: App\nmetadata: {name: p, generation: 7}\nspec: {replicas: 1}",
		appHead + "spec: {replicas: 1}\nstatus: {phase: x}",
	} {
		var got *app
		for range 3 {
			clock = clock.Add(time.Minute)
			got = must(c.Patch(t.Context(), key("", "p"), types.ApplyYAMLPatchType, []byte(config), metav1.PatchOptions{FieldManager: "one"}))(t)
		}
		if got.ResourceVersion != "2" || s.ResourceVersion() != "2" {
			t.Errorf("%s: written at %s", config, got.ResourceVersion)
		}
	}
}

func TestApplyConflict(t *testing.T) {
	_, c := appServer(t, fake.Options{})
	must(applyApp(t, c, "one", `spec: {replicas: 1, "on": true}`, false))(t)
	_, err := applyApp(t, c, "two", `spec: {replicas: 2, "on": false}`, false)
	st := wantStatus(t, err, 409, metav1.StatusReasonConflict)
	want := "Apply failed with 2 conflicts: conflicts with \"one\":\n- .spec.on\n- .spec.replicas"
	if st.Message != want || len(st.Details.Causes) != 2 || st.Details.Causes[1].Type != metav1.CauseTypeFieldManagerConflict ||
		st.Details.Causes[1].Field != ".spec.replicas" || st.Details.Causes[1].Message != `conflict with "one"` {
		t.Errorf("status %+v", st)
	}
	got := must(applyApp(t, c, "two", "spec: {replicas: 2}", true))(t)
	if d := cmp.Diff([]string{`one Apply  {"f:spec":{"f:on":{}}}`, `two Apply  {"f:spec":{"f:replicas":{}}}`}, owners(got)); d != "" || *got.Spec.Replicas != 2 {
		t.Errorf("forced %s\n%s", specOf(t, got), d)
	}
	_, err = c.Patch(t.Context(), key("", "p"), types.ApplyYAMLPatchType, []byte(appHead), metav1.PatchOptions{})
	if st := wantStatus(t, err, 422, metav1.StatusReasonInvalid); !strings.Contains(st.Message, "fieldManager: Required value") {
		t.Errorf("message %q", st.Message)
	}
}

// TestApplyAfterUpdates: an update takes ownership of what it changes, from the first
// apply on or when it names a manager from the beginning.
func TestApplyAfterUpdates(t *testing.T) {
	now := time.Now() // stands still: owners are in the order of their times
	s, c := appServer(t, fake.Options{Now: func() time.Time { return now }})
	two := int32(2)
	in := &app{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p"}, Spec: appSpec{Replicas: &two}}
	got := must(c.Create(t.Context(), in, metav1.CreateOptions{FieldManager: "maker"}))(t)
	if d := cmp.Diff([]string{`maker Update  {"f:spec":{"f:replicas":{}}}`}, owners(got)); d != "" {
		t.Fatalf("after create:\n%s", d)
	}
	if st := wantStatus(t, second(applyApp(t, c, "one", "spec: {replicas: 1}", false)), 409, metav1.StatusReasonConflict); !strings.HasPrefix(st.Message,
		`Apply failed with 1 conflict: conflict with "maker" using apps/v1`) {
		t.Errorf("message %q", st.Message)
	}
	got = must(applyApp(t, c, "one", "spec: {replicas: 1}", true))(t)
	got.Spec.Replicas, got.Labels = &two, map[string]string{"app": "web"}
	got = must(c.Update(t.Context(), got, metav1.UpdateOptions{FieldManager: "editor"}))(t)
	if d := cmp.Diff([]string{`editor Update  {"f:metadata":{"f:labels":{".":{},"f:app":{}}},"f:spec":{"f:replicas":{}}}`}, owners(got)); d != "" {
		t.Errorf("after update:\n%s", d)
	}
	got.Status.Phase = "Ready"
	got = must(c.UpdateStatus(t.Context(), got, metav1.UpdateOptions{FieldManager: "editor"}))(t)
	if o := owners(got); len(o) != 2 || !strings.HasPrefix(o[1], `editor Update status {"f:status":`) {
		t.Errorf("after status update: %q", o)
	}
	// Without a manager nothing is noted until somebody applies.
	must(fake.Delete[*app](s, key("a", "p")))(t)
	if got := must(fake.Create(s, in))(t); got.ManagedFields != nil {
		t.Errorf("managedFields %v", got.ManagedFields)
	}
	if st := wantStatus(t, second(applyApp(t, c, "one", "spec: {replicas: 1}", false)), 409, metav1.StatusReasonConflict); !strings.Contains(st.Message, "before-first-apply") {
		t.Errorf("message %q", st.Message)
	}
}

func TestApplyStatus(t *testing.T) {
	s, c := appServer(t, fake.Options{})
	const path = "/apis/apps/v1/namespaces/a/apps/p"
	status := appHead + "spec: {replicas: 3}\nstatus: {phase: Ready}"
	if code, body := request(t, s, "PATCH", path+"/status?fieldManager=one", string(types.ApplyYAMLPatchType), status); code != 404 {
		t.Errorf("the status of nothing: %d %s", code, body)
	}
	got := must(applyApp(t, c, "one", "spec: {replicas: 1}\nstatus: {phase: Never}", false))(t)
	if got.Status.Phase != "" {
		t.Errorf("applied %+v", got.Status)
	}
	code, body := request(t, s, "PATCH", path+"/status?fieldManager=one", string(types.ApplyYAMLPatchType), status)
	check(t, json.Unmarshal(body, &got))
	if code != 200 || got.Status.Phase != "Ready" || *got.Spec.Replicas != 1 {
		t.Errorf("%d %s", code, body)
	}
	want := []string{`one Apply  {"f:spec":{"f:replicas":{}}}`, `one Apply status {"f:status":{"f:phase":{}}}`}
	if d := cmp.Diff(want, owners(got)); d != "" {
		t.Errorf("owners (-want +got):\n%s", d)
	}
	// The status of this kind has metadata, which it can take from others.
	labeled := strings.Replace(status, "name: p", "name: p, labels: {a: b}", 1)
	if code, body := request(t, s, "PATCH", path+"/status?fieldManager=two", string(types.ApplyYAMLPatchType), labeled); code != 200 || !strings.Contains(string(body), `{"f:metadata":{"f:labels":{"f:a":{}}},"f:status"`) {
		t.Errorf("labels by the status: %d %s", code, body)
	}
	labeled = strings.Replace(labeled, "a: b", "a: c", 1)
	if code, body := request(t, s, "PATCH", path+"/status?fieldManager=one", string(types.ApplyYAMLPatchType), labeled); code != 409 || !strings.Contains(string(body), ".metadata.labels.a") {
		t.Errorf("labels of another: %d %s", code, body)
	}
	code, body = request(t, s, "PATCH", strings.Replace(path, "/p", "/q", 1)+"?fieldManager=one", string(types.ApplyYAMLPatchType), strings.Replace(appHead, "name: p", "name: q", 1))
	if code != 201 {
		t.Errorf("created with %d %s", code, body)
	}
}

// TestApplyFlowStyle applies YAML that begins as JSON does.
func TestApplyFlowStyle(t *testing.T) {
	_, c := appServer(t, fake.Options{})
	const patch = "{apiVersion: apps/v1, kind: App, metadata: {name: p}, spec: {replicas: 9, args: [x]}}"
	got := must(c.Patch(t.Context(), key("a", "p"), types.ApplyYAMLPatchType, []byte(patch), metav1.PatchOptions{FieldManager: "m"}))(t)
	if spec := specOf(t, got); spec != `{"replicas":9,"args":["x"]}` {
		t.Error(spec)
	}
}

func TestApplyRefusals(t *testing.T) {
	s, c := appServer(t, fake.Options{})
	must(applyApp(t, c, "one", "", false))(t)
	for _, d := range []struct {
		body    string
		code    int32
		message string
	}{
		{"a: b: c", 400, "error encoding patch: yaml: mapping values are not allowed in this context"},
		{"[]", 400, "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"},
		{"\n", 400, "invalid object type: /, Kind="},
		{"apiVersion: v1\nkind: Pod", 400, "invalid object type: /v1, Kind=Pod"},
		{appHead + "spec: {replicas: many}", 500, ""},
		{appHead + "spec: {containers: [{name: a, ports: [{containerPwrt: 1}]}]}", 500,
			`failed to create typed patch object (/p; apps/v1, Kind=App): .spec.containers[name="a"].ports[containerPort=0,protocol="TCP"].containerPwrt: field not declared in schema`},
		{"apiVersion: apps/v1\nkind: App\nmetadata: {name: q}", 400, "the name of the object (q) does not match the name on the URL (p)"},
		{"apiVersion: apps/v1\nkind: App\nmetadata: {name: p, namespace: b}", 400, "the namespace of the provided object does not match the namespace sent on the request"},
		{"apiVersion: apps/v1\nkind: App\nmetadata: {name: p, managedFields: [{manager: x}]}", 400, "metadata.managedFields must be nil"},
		{"apiVersion: apps/v1\nkind: App\nmetadata: {name: p, resourceVersion: '1'}", 409, ""},
	} {
		_, err := c.Patch(t.Context(), key("a", "p"), types.ApplyYAMLPatchType, []byte(d.body), metav1.PatchOptions{FieldManager: "one"})
		if st := statusOf(err); d.code == 500 && err == nil || d.code != 500 && st.Code != d.code || d.message != "" && st.Message != d.message {
			t.Errorf("%q: error %v, want %d %q", d.body, err, d.code, d.message)
		}
	}
	if s.ResourceVersion() != "2" {
		t.Error("a refused apply wrote")
	}
}

func TestApplyUntyped(t *testing.T) {
	s := statusServer(t, fake.Options{})
	c := clientOf(t, s, jobKind, "a")
	do := func(manager, spec string) (*unstructured.Unstructured, error) {
		return c.Patch(t.Context(), key("", "j"), types.ApplyYAMLPatchType, []byte("apiVersion: example.com/v1\nkind: Job\nmetadata: {name: j}\nspec: "+spec), metav1.PatchOptions{FieldManager: manager})
	}
	must(do("one", "{a: 1, list: [x]}"))(t)
	got := must(do("two", "{b: {c: 9007199254740993}}"))(t)
	if n, _, _ := unstructured.NestedInt64(got.Object, "spec", "b", "c"); n != 9007199254740993 || len(owners(got)) != 2 {
		t.Errorf("merged to %v", got.Object)
	}
	wantStatus(t, second(do("two", "{list: [y]}")), 409, metav1.StatusReasonConflict)
}

// TestApplyTimes: the times of managedFields are the server's clock's.
func TestApplyTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
		_, c := appServer(t, fake.Options{Now: func() time.Time { return now }})
		must(applyApp(t, c, "one", "spec: {replicas: 1}", false))(t)
		now = now.Add(time.Hour)
		got := must(applyApp(t, c, "two", `spec: {"on": true}`, false))(t)
		for i, want := range []int{0, 1} {
			if e := got.ManagedFields[i]; e.Time.UTC().Hour() != want || e.Time.Year() != 2020 {
				t.Errorf("entry of %s at %v", e.Manager, e.Time)
			}
		}
	})
}

// TestApplyWithoutKey: what is stored has every key of a merged list, so an item that
// leaves one out would be another one at the next apply.
func TestApplyWithoutKey(t *testing.T) {
	for _, c := range []struct{ spec, want string }{
		{"containers: [{name: b, ports: [{}]}], groups: [g]", "spec.containers[0].ports[0].containerPort"},
		{"containers: [{image: i}]", "spec.containers[0].name"},
		{"containers: [{name: b, ports: [{containerPort: 1}, {containerPort: null}]}]", "spec.containers[0].ports[1].containerPort"},
		{"containers: [{name: b}, {name: null}]", "spec.containers[1].name"},
		{"inner: {inner: {containers: [{name: b, ports: [{protocol: UDP}]}]}}", "spec.inner.inner.containers[0].ports[0].containerPort"},
	} {
		s, client := appServer(t, fake.Options{})
		_, err := applyApp(t, client, "one", "spec: {"+c.spec+"}", false)
		st := wantStatus(t, err, 422, metav1.StatusReasonInvalid)
		if msg := `App.apps "p" is invalid: ` + c.want + ": Required value"; st.Message != msg || len(st.Details.Causes) != 1 || st.Details.Causes[0].Field != c.want {
			t.Errorf("%s: message %q, want %q", c.spec, st.Message, msg)
		}
		must(applyApp(t, client, "other", "spec: {containers: [{name: a}]}", false))(t)
		wantStatus(t, second(applyApp(t, client, "one", "spec: {"+c.spec+"}", false)), 422, metav1.StatusReasonInvalid)
		if got := s.ResourceVersion(); got != "2" {
			t.Errorf("%s: refused, but wrote %s", c.spec, got)
		}
	}
}

// TestApplyFillsKeys: the key that a port leaves out is stored as its default.
func TestApplyFillsKeys(t *testing.T) {
	for _, spec := range []string{
		"containers: [{name: b, ports: [{containerPort: 1}]}]",
		"containers: [{name: b, ports: [{containerPort: 1, protocol: null}]}]",
	} {
		_, client := appServer(t, fake.Options{})
		must(applyApp(t, client, "one", "spec: {"+spec+"}", false))(t)
		got := must(applyApp(t, client, "one", "spec: {containers: [{name: b, ports: [{containerPort: 1, protocol: TCP}]}]}", false))(t)
		if ports := got.Spec.Containers[0].Ports; len(ports) != 1 || ports[0].Protocol != "TCP" || got.Generation != 1 {
			t.Errorf("%s: ports %v, generation %d", spec, ports, got.Generation)
		}
	}
}

// TestOwnersBeforeApply: the first apply names the writers of the fields, except the test's own
// functions.
func TestOwnersBeforeApply(t *testing.T) {
	s, c := appServer(t, fake.Options{})
	update := func(manager, patch string) {
		t.Helper()
		must(c.Patch(t.Context(), key("", "p"), types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: manager}))(t)
	}
	must(fake.Create(s, &app{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p"}, Spec: appSpec{On: true}}))(t)
	update("bob", `{"spec":{"replicas":2}}`)
	update("carol", `{"spec":{"max":"5%"}}`)
	update("bob", `{"spec":{"replicas":3}}`)
	must(fake.Patch[*app](s, key("a", "p"), []byte(`{"metadata":{"labels":{"l":"1"}}}`)))(t)
	_, err := applyApp(t, c, "zoe", "spec: {replicas: 4, max: 6%, 'on': false}", false)
	want := "Apply failed with 3 conflicts: conflicts with \"before-first-apply\" using apps/v1:\n- .spec.on\n" +
		"conflicts with \"bob\" using apps/v1:\n- .spec.replicas\nconflicts with \"carol\" using apps/v1:\n- .spec.max"
	if statusOf(err).Message != want {
		t.Errorf("conflicts: %v", err)
	}
	if got := must(fake.Get[*app](s, key("a", "p")))(t); len(got.ManagedFields) > 0 {
		t.Errorf("owners without an apply: %q", owners(got))
	}
	got := must(applyApp(t, c, "zoe", "spec: {replicas: 3}", false))(t)
	if d := cmp.Diff([]string{
		`zoe Apply  {"f:spec":{"f:replicas":{}}}`,
		`before-first-apply Update  {"f:spec":{"f:on":{}}}`,
		`bob Update  {"f:spec":{"f:replicas":{}}}`,
		`carol Update  {"f:spec":{"f:max":{}}}`,
		`unknown Update  {"f:metadata":{"f:labels":{".":{},"f:l":{}}}}`,
	}, owners(got)); d != "" {
		t.Errorf("owners (-want +got):\n%s", d)
	}
}

// TestManyWriters: an object remembers a limited number of changes of writer.
func TestManyWriters(t *testing.T) {
	_, c := appServer(t, fake.Options{})
	must(c.Create(t.Context(), &app{ObjectMeta: metav1.ObjectMeta{Name: "p"}}, metav1.CreateOptions{}))(t)
	for i := range 100 {
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{"m%d":"%d"}}}`, i%2, i)
		must(c.Patch(t.Context(), key("", "p"), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fmt.Sprint("m", i%2)}))(t)
	}
	_, err := c.Apply(t.Context(), map[string]any{"metadata": map[string]any{"name": "p", "labels": map[string]any{"m0": "x", "m1": "x"}}}, metav1.ApplyOptions{FieldManager: "zoe"})
	if want := "Apply failed with 2 conflicts: conflicts with \"m0\" using apps/v1:\n- .metadata.labels.m0\n" +
		"conflicts with \"m1\" using apps/v1:\n- .metadata.labels.m1"; statusOf(err).Message != want {
		t.Errorf("conflicts: %v", err)
	}
}
