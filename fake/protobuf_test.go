package fake_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinform/kinform/fake"
)

const protobuf = "application/vnd.kubernetes.protobuf"

// message is a generated type, such as PartialObjectMetadata, which stands for nodes here.
type message interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// unwrap opens the envelope of a body and reads what is in it.
func unwrap(t *testing.T, body string, into message) runtime.TypeMeta {
	t.Helper()
	rest, ok := bytes.CutPrefix([]byte(body), []byte("k8s\x00"))
	if !ok {
		t.Fatalf("no envelope: %q", body)
	}
	var unknown runtime.Unknown
	check(t, unknown.Unmarshal(rest))
	check(t, into.Unmarshal(unknown.Raw))
	return unknown.TypeMeta
}

func wrap(t *testing.T, kind runtime.TypeMeta, obj message) string {
	t.Helper()
	unknown := runtime.Unknown{TypeMeta: kind, Raw: must(obj.Marshal())(t)}
	return "k8s\x00" + string(must(unknown.Marshal())(t))
}

func TestProtobufObjects(t *testing.T) {
	s := newServer(t, fake.Options{})
	node := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"zone": "a"}}}
	kind := runtime.TypeMeta{APIVersion: "v1", Kind: "Node"}
	code, body, header := call(t, s, "POST", "/api/v1/nodes", wrap(t, kind, node), "Content-Type", protobuf, "Accept", protobuf)
	var made metav1.PartialObjectMetadata
	if got := unwrap(t, body, &made); code != 201 || got != kind || header.Get("Content-Type") != protobuf {
		t.Errorf("create: %d %v %v", code, got, header)
	}
	if made.ResourceVersion != "2" || made.Labels["zone"] != "a" || made.UID == "" {
		t.Errorf("made %+v", made)
	}
	stored := must(fake.Get[*metav1.PartialObjectMetadata](s, key("", "n1")))(t)
	if stored.Kind != "Node" || stored.APIVersion != "v1" {
		t.Errorf("an object read from protobuf has kind %v", stored.TypeMeta)
	}
	must(fake.Create(s, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "n2"}}))(t)
	_, body, _ = call(t, s, "GET", "/api/v1/nodes?limit=1", "", "Accept", protobuf+",application/json")
	var list metav1.PartialObjectMetadataList
	if got := unwrap(t, body, &list); got.Kind != "NodeList" || len(list.Items) != 1 || list.ResourceVersion != "3" || list.Continue == "" {
		t.Errorf("list %v %+v", got, list)
	}
	code, body, _ = call(t, s, "DELETE", "/api/v1/nodes/n1", wrap(t, runtime.TypeMeta{Kind: "DeleteOptions", APIVersion: "v1"}, metav1.NewRVDeletionPrecondition("1")),
		"Content-Type", protobuf, "Accept", protobuf)
	var status metav1.Status
	if got := unwrap(t, body, &status); code != 409 || got.Kind != "Status" || status.Reason != metav1.StatusReasonConflict {
		t.Errorf("delete: %d %v %+v", code, got, status)
	}
}

// TestProtobufPartial asks for the metadata of a type without protobuf.
func TestProtobufPartial(t *testing.T) {
	s := fivePods(t)
	_, body, _ := call(t, s, "GET", "/api/v1/pods", "", "Accept", protobuf+";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json")
	var list metav1.PartialObjectMetadataList
	if got := unwrap(t, body, &list); got.Kind != "PartialObjectMetadataList" || len(list.Items) != 5 || list.Items[4].Name != "p4" {
		t.Errorf("%v %+v", got, list)
	}
}

func TestProtobufWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, fake.Options{})
		must(fake.Create(s, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}))(t)
		must(fake.Delete[*metav1.PartialObjectMetadata](s, key("", "n1")))(t)
		_, body, header := call(t, s, "GET", "/api/v1/nodes?watch=1&resourceVersion=1&timeoutSeconds=1&allowWatchBookmarks=true", "", "Accept", protobuf)
		if got := header.Get("Content-Type"); got != protobuf+";stream=watch" {
			t.Errorf("Content-Type %q", got)
		}
		var got []string
		for r := bytes.NewReader([]byte(body)); r.Len() > 0; {
			var size uint32
			check(t, binary.Read(r, binary.BigEndian, &size))
			frame := make([]byte, size)
			must(io.ReadFull(r, frame))(t)
			var ev metav1.WatchEvent
			check(t, ev.Unmarshal(frame))
			var node metav1.PartialObjectMetadata
			kind := unwrap(t, string(ev.Object.Raw), &node)
			got = append(got, fmt.Sprint(ev.Type, " ", kind.Kind, " ", node.Name, " ", node.ResourceVersion))
		}
		if want := "[ADDED Node n1 2 DELETED Node n1 3 BOOKMARK Node  3]"; fmt.Sprint(got) != want {
			t.Errorf("%v, want %v", got, want)
		}
	})
}

// TestBodiesThatAreNoProtobuf: all of these bodies get 400 or 415.
func TestBodiesThatAreNoProtobuf(t *testing.T) {
	s := newServer(t, fake.Options{})
	for name, c := range map[string]struct {
		path, body string
		code       int
	}{
		"no magic":       {"/api/v1/nodes", `{"kind":"Node"}`, 400},
		"magic alone":    {"/api/v1/nodes", "k8s\x00", 422},
		"cut":            {"/api/v1/nodes", "k8s\x00\x0a\x40abc", 400},
		"other kind":     {"/api/v1/nodes", wrap(t, runtime.TypeMeta{Kind: "Pod", APIVersion: "v1"}, &metav1.PartialObjectMetadata{}), 400},
		"no such form":   {"/api/v1/namespaces/a/pods", wrap(t, runtime.TypeMeta{Kind: "Pod", APIVersion: "v1"}, &metav1.PartialObjectMetadata{}), 415},
		"its ObjectMeta": {"/apis/example.com/v1/namespaces/a/widgets", "k8s\x00", 415},
	} {
		if code, body, _ := call(t, s, "POST", c.path, c.body, "Content-Type", protobuf); code != c.code {
			t.Errorf("%s: %d %s", name, code, body)
		}
	}
}

func TestTableOfPods(t *testing.T) {
	s := fivePods(t)
	const accept = "application/json;as=Table;g=meta.k8s.io;v=v1"
	for policy, want := range map[string]string{"": "PartialObjectMetadata", "Metadata": "PartialObjectMetadata", "Object": "Pod", "None": ""} {
		_, body, _ := call(t, s, "GET", "/api/v1/pods?includeObject="+policy, "", "Accept", accept)
		var table metav1.Table
		check(t, json.Unmarshal([]byte(body), &table))
		if len(table.Rows) != 5 || len(table.ColumnDefinitions) != len(table.Rows[0].Cells) || table.Rows[2].Cells[0] != "p2" {
			t.Fatalf("%s: %s", policy, body)
		}
		var object metav1.TypeMeta
		if raw := table.Rows[0].Object.Raw; len(raw) > 0 {
			check(t, json.Unmarshal(raw, &object))
		}
		if object.Kind != want {
			t.Errorf("includeObject=%s: rows carry %q", policy, object.Kind)
		}
	}
	if code, _, _ := call(t, s, "GET", "/api/v1/pods?includeObject=All", "", "Accept", accept); code != http.StatusBadRequest {
		t.Errorf("an unknown includeObject: %d", code)
	}
}

func TestYAMLBodies(t *testing.T) {
	s := newServer(t, fake.Options{})
	code, body, _ := call(t, s, "POST", "/api/v1/namespaces/a/pods", "kind: Pod\nmetadata:\n  name: p\nspec: {node: n1}\n", "Content-Type", "application/yaml")
	if code != 201 || must(fake.Get[*pod](s, key("a", "p")))(t).Spec.Node != "n1" {
		t.Errorf("%d %s", code, body)
	}
	code, body, _ = call(t, s, "POST", "/api/v1/namespaces/a/pods", "a: [", "Content-Type", "application/yaml")
	if code != 400 {
		t.Errorf("broken YAML: %d %s", code, body)
	}
}
