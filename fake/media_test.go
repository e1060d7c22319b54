package fake_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
)

// TestYAML: lists, tables and refusals can be in YAML too, and keep their numbers.
func TestYAML(t *testing.T) {
	s := newServer(t, fake.Options{})
	p := newPod("a", "p")
	p.Spec.Ports = []int64{1152921504606846977}
	must(fake.Create(s, p))(t)
	for path, want := range map[string]string{
		"/api/v1/pods":                              "apiVersion: v1\nitems:\n- ",
		"/api/v1/namespaces/a/pods/p":               "spec:\n  ports:\n  - 1152921504606846977\n",
		"/api/v1/namespaces/a/pods/none":            "apiVersion: v1\ncode: 404\n",
		"/api/v1/namespaces/a/pods?watch=1":         "apiVersion: v1\ncode: 406\n",
		"/api/v1/namespaces/a/pods?resourceVersion": "apiVersion: v1\n",
		"/api/v1": "groupVersion: v1\nkind: APIResourceList\n",
	} {
		if _, body, header := call(t, s, "GET", path, "", "Accept", "application/yaml"); !strings.Contains(body, want) || header.Get("Content-Type") != "application/yaml" {
			t.Errorf("%s: %s %s", path, header.Get("Content-Type"), body)
		}
	}
}

func TestAccept(t *testing.T) {
	s := fivePods(t)
	const partial = "as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	for accept, want := range map[string]string{
		"":                            `{"kind":"Pod",`,
		"*/*":                         `{"kind":"Pod",`,
		"application/*;q=0.8":         `"code":406`,
		"*/*;q=0.8":                   `{"kind":"Pod",`,
		"application/yaml":            "apiVersion: v1\nkind: Pod\nmetadata:\n",
		"application/yaml;" + partial: "apiVersion: meta.k8s.io/v1\nkind: PartialObjectMetadata\nmetadata:\n",
		"application/yaml;q=0.5,application/json":                                            `{"kind":"Pod",`,
		"application/json;stream=watch":                                                      `{"kind":"Pod",`,
		"text/html, application/json":                                                        `{"kind":"Pod",`,
		"application/json;" + partial:                                                        `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"p0"`,
		"application/json;as=Table;g=meta.k8s.io;v=v1,application/json;" + partial:           `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"2"},`,
		"application/json;as=Table;g=meta.k8s.io;v=v2,application/json;" + partial:           `{"kind":"PartialObjectMetadata"`,
		"application/vnd.kubernetes.protobuf,application/json":                               `{"kind":"Pod",`,
		"application/vnd.kubernetes.protobuf;" + partial + ",application/json":               "k8s\x00",
		"application/vnd.kubernetes.protobuf":                                                `"code":406`,
		"application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1":                    `"code":406`,
		"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1beta1,application/json": `{"kind":"Pod",`,
		"application/json;as=Table;g=meta.k8s.io;v=v0":                                       `"code":406`,
		"text/html":           `"code":406`,
		"application/json;;=": `"code":406`,
	} {
		if _, body, _ := call(t, s, "GET", "/api/v1/namespaces/a/pods/p0", "", "Accept", accept); !strings.Contains(body, want) {
			t.Errorf("Accept %q: %s, want %s", accept, body, want)
		}
	}
}

// TestPartialWatch watches metadata alone: no event, bookmarks included, may state the
// kind of the whole object.
func TestPartialWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fivePods(t)
		must(fake.Delete[*pod](s, key("a", "p0")))(t)
		_, body, _ := call(t, s, "GET", "/api/v1/pods?watch=1&resourceVersion=0&allowWatchBookmarks=true&timeoutSeconds=1", "",
			"Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
		lines := strings.Split(strings.TrimSpace(body), "\n")
		if len(lines) != 6 || !strings.Contains(lines[4], `"annotations":{"k8s.io/initial-events-end":"true"}`) {
			t.Errorf("events:\n%s", body)
		}
		for _, line := range lines {
			if !strings.Contains(line, `"object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1"`) || strings.Contains(line, "spec") {
				t.Errorf("event %s", line)
			}
		}
	})
}

// impostor's deep copy is of another type.
type impostor struct{ pod }

// TestObjectsThatCannotBeEncoded checks that the answer is a Status before anything of a
// list was sent, and a broken connection in the middle of a watch.
func TestObjectsThatCannotBeEncoded(t *testing.T) {
	s := fake.New(fake.Options{})
	check(t, fake.Register(s, kind.Of[*impostor](v1, "impostors"), fake.Rules{}))
	_, err := fake.Create(s, &impostor{*newPod("a", "o")})
	wantStatus(t, err, 400, metav1.StatusReasonBadRequest)

	check(t, fake.Register(s, kind.Of[*locked](v1, "locks"), fake.Rules{}))
	must(fake.Create(s, &locked{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "l"}}))(t)
	for _, path := range []string{"/api/v1/locks", "/api/v1/namespaces/a/locks/l"} {
		if code, body, _ := call(t, s, "GET", path, ""); code != 500 || !strings.Contains(body, "no JSON today") {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	if body, err := readBroken(t, s, "/api/v1/locks?watch=1&resourceVersion=1"); body != "" || err == nil {
		t.Errorf("watch: %q, %v", body, err)
	}
	if got := must(fake.List[*locked](s, fake.Selection{}))(t); len(got) != 1 {
		t.Errorf("typed list: %v", got)
	}
}

// locked copies well and never encodes.
type locked struct {
	metav1.TypeMeta
	metav1.ObjectMeta
}

func (l *locked) DeepCopyObject() runtime.Object {
	c := *l
	l.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	return &c
}

func (*locked) MarshalJSON() ([]byte, error) { return nil, errors.New("no JSON today") }

// A newer server leaves managed fields out in every form, if asked to. Another does not know the parameter.
func TestDropsManagedFields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const drop, partial = ";drop=metadata.managedFields", ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
		for _, drops := range []bool{false, true} {
			s := newServer(t, fake.Options{DropsManagedFields: drops})
			node := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "node-one", ManagedFields: []metav1.ManagedFieldsEntry{{
				Manager: "somebody", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{}`),
			}}}}
			must(fake.Create(s, node))(t)
			for _, path := range []string{"/api/v1/nodes/node-one", "/api/v1/nodes", "/api/v1/nodes?watch=1&timeoutSeconds=1"} {
				for _, accept := range []string{protobuf, protobuf + partial, "application/json", "application/json" + partial, "application/json;as=Table;g=meta.k8s.io;v=v1"} {
					_, whole, _ := call(t, s, "GET", path, "", "Accept", accept)
					code, body, _ := call(t, s, "GET", path, "", "Accept", accept+drop)
					if !strings.Contains(whole, "somebody") || strings.Contains(body, "somebody") == drops || code != 200 || !strings.Contains(body, node.Name) {
						t.Errorf("drops: %v, %s as %s: %d %q", drops, path, accept, code, body)
					}
				}
			}
			if code, body, _ := call(t, s, "GET", "/api/v1/nodes", "", "Accept", "application/json;drop=spec"); (code == 406) != drops {
				t.Errorf("drops: %v, another field: %d %s", drops, code, body)
			}
			if stored := must(fake.Get[*metav1.PartialObjectMetadata](s, key("", "node-one")))(t); len(stored.ManagedFields) != 1 {
				t.Error("the server has lost the managed fields")
			}
		}
	})
}
