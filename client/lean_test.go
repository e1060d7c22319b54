package client_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
)

// lean is what DropManagedFields asks for.
const lean = ";drop=metadata.managedFields"

// leanRead is what a client gets by two lists and a watch.
type leanRead[T any] struct {
	list, watch collected[T]
	bytes       int64
	accepts     []string
}

// readLean reads the gadgets of a server that answers 406 if refuses is a part of the Accept header.
func readLean[T any](t *testing.T, s *fake.Server, opts client.Options, refuses string) (got leanRead[T]) {
	t.Helper()
	conn := transport(func(req *http.Request) (*http.Response, error) {
		accept := req.Header.Get("Accept")
		got.accepts = append(got.accepts, accept)
		if refuses != "" && strings.Contains(accept, refuses) {
			resp := response(strings.NewReader("no"))
			resp.StatusCode = http.StatusNotAcceptable
			return resp, nil
		}
		return s.Client().Transport.RoundTrip(req)
	}).connection()
	r, err := client.New(conn, kind.OfResource[T](gadgets.GroupVersionResource()), opts)
	if err != nil {
		t.Fatal(err)
	}
	list(t.Context(), r, metav1.ListOptions{})
	got.list = list(t.Context(), r, metav1.ListOptions{})
	got.watch = watch(t.Context(), r, metav1.ListOptions{ResourceVersion: "1", TimeoutSeconds: new(int64(1))})
	if got.list.err != nil || got.watch.err != nil || len(got.list.events) != 1 || len(got.watch.events) != 1 {
		t.Fatal(got.list, got.watch)
	}
	got.list.events[0].Sum, got.watch.events[0].Sum = 0, 0 // of bytes, by the client's own seed
	got.bytes = r.Stats().Bytes
	return got
}

// testLean compares a server that leaves managed fields out, one that cannot, and one that refuses to.
func testLean[T any](t *testing.T, encoding string) {
	synctest.Test(t, func(t *testing.T) {
		servers := map[bool]*fake.Server{}
		for _, can := range []bool{false, true} {
			s := fake.New(fake.Options{DropsManagedFields: can})
			if err := fake.Register(s, kind.OfResource[*gadget](gadgets.GroupVersionResource()).Named("Gadget"), fake.Rules{}); err != nil {
				t.Fatal(err)
			}
			g := fake.Object(&gadget{}, "a", "b")
			g.UID, g.ManagedFields = "u", []metav1.ManagedFieldsEntry{{
				Manager: "m", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "example.com/v1", FieldsType: "FieldsV1",
				FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{}}}`),
			}}
			if _, err := fake.Create(s, g); err != nil {
				t.Fatal(err)
			}
			servers[can] = s
		}
		opts := client.Options{DropManagedFields: true}
		whole := readLean[T](t, servers[true], client.Options{}, "")
		cannot, can := readLean[T](t, servers[false], opts, ""), readLean[T](t, servers[true], opts, "")
		refused, json := readLean[T](t, servers[true], opts, lean), readLean[T](t, servers[true], opts, "protobuf")
		for name, other := range map[string]leanRead[T]{"cannot": cannot, "refuses": refused, "refuses protobuf": json} {
			if d := cmp.Diff(can.list.events, other.list.events) + cmp.Diff(can.watch.events, other.watch.events); d != "" {
				t.Errorf("%s: %s", name, d)
			}
		}
		if can.bytes >= cannot.bytes || cannot.bytes != whole.bytes || refused.bytes != whole.bytes {
			t.Errorf("%d bytes without managed fields, %d with, %d refused, %d whole", can.bytes, cannot.bytes, refused.bytes, whole.bytes)
		}
		for n, accept := range can.accepts {
			clauses := strings.Split(accept, ",")
			if without := strings.ReplaceAll(accept, lean, ""); strings.Count(accept, lean) != len(clauses) || without != whole.accepts[n] {
				t.Errorf("%s, and without DropManagedFields %s", accept, whole.accepts[n])
			}
		}
		if want := append([]string{can.accepts[0]}, whole.accepts...); !slices.Equal(refused.accepts, want) {
			t.Errorf("refused: %q, want %q", refused.accepts, want)
		}
		if encoding == client.Protobuf && (len(json.accepts) != 5 || strings.Contains(json.accepts[1], lean) || strings.Contains(json.accepts[4], "protobuf")) {
			t.Errorf("protobuf refused: %q", json.accepts)
		}
	})
}

// A server that can leaves managed fields out, and is asked once if it refuses. The objects are the same.
func TestLean(t *testing.T) {
	t.Run("metadata", func(t *testing.T) { testLean[*metav1.PartialObjectMetadata](t, client.Protobuf) })
	t.Run("unstructured", func(t *testing.T) { testLean[*unstructured.Unstructured](t, client.JSON) })
}
