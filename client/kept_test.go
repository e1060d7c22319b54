package client_test

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/internal/memtest"
	"github.com/kinform/kinform/reflector"
)

const (
	keptObjects = 700 // more than the strings of a list begin to be shared with
	keptFields  = 3000
)

// keptBodies are a list of objects with labels that repeat and managed fields, in every
// encoding by its content type.
func keptBodies(t *testing.T) map[string][]byte {
	t.Helper()
	rng := rand.New(rand.NewSource(3))
	var items []metav1.PartialObjectMetadata
	var texts []string
	for i := range keptObjects {
		m := partialWidget(fmt.Sprint("w", i), fmt.Sprint(i))
		m.Kind, m.APIVersion = "Widget", "example.com/v1"
		m.Labels = map[string]string{}
		for k := range 12 {
			m.Labels[fmt.Sprint("example.com/a-label-of-many-objects-", k)] = fmt.Sprint("and-its-value-which-is-not-short-", rng.Intn(3))
		}
		// Equal fields would be kept once: from 0.38 on, apimachinery shares their text.
		fields := metav1.NewFieldsV1(fmt.Sprintf(`{"f:%0*d":{}}`, keptFields, i))
		m.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: fmt.Sprint("m", i), FieldsType: "FieldsV1", FieldsV1: fields}}
		items = append(items, *m)
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	text := listJSON(texts...)
	return map[string][]byte{
		"application/json":                    []byte(text),
		"application/vnd.kubernetes.protobuf": protobufListOf(t, "WidgetList", "12", items...),
	}
}

// keeping lists the body and returns what keep makes of each object, with the bytes of heap
// that it takes. It tries again if these are more than enough.
func keeping[K any](t *testing.T, enough int, contentType string, body []byte, strings int, opts client.Options, keep func(*metav1.PartialObjectMetadata) K) (kept []K, used int) {
	t.Helper()
	return kept, int(memtest.Least(int64(enough), func() int64 {
		kept = make([]K, 0, keptObjects)
		r := client.Interned(newResource[*metav1.PartialObjectMetadata](t, bodiesOf(contentType, body), opts), strings)
		client.Decoders(r, 1) // each has its own table of strings
		before := memtest.Heap()
		_, err := r.List(t.Context(), metav1.ListOptions{}, func(ev reflector.Event[*metav1.PartialObjectMetadata], err error) bool {
			if err != nil {
				t.Fatal(err)
			}
			kept = append(kept, keep(ev.Object))
			return true
		})
		used := memtest.Heap() - before
		if err != nil || len(kept) != keptObjects {
			t.Fatal(len(kept), err)
		}
		runtime.KeepAlive(r)
		return used
	}))
}

// In every encoding the options make what is kept smaller, and what is kept of an object
// keeps nothing of what it was read from.
func TestMemoryThatIsKept(t *testing.T) {
	whole := func(m *metav1.PartialObjectMetadata) *metav1.PartialObjectMetadata { return m }
	for contentType, body := range keptBodies(t) {
		t.Run(strings.TrimPrefix(contentType, "application/"), func(t *testing.T) {
			all, usedByAll := keeping(t, 0, contentType, body, 0, client.Options{}, whole)
			limit := usedByAll - keptObjects*keptFields*9/10
			dropped, usedByDropped := keeping(t, limit, contentType, body, 0, client.Options{DropManagedFields: true}, whole)
			if usedByDropped > limit {
				t.Errorf("managed fields dropped: %d of %d bytes", usedByDropped, usedByAll)
			}
			limit = usedByDropped - keptObjects*24*35*8/10 // the 24 strings of 35 bytes of each object but the first few
			shared, usedByShared := keeping(t, limit, contentType, body, 1000, client.Options{DropManagedFields: true}, whole)
			if usedByShared > limit && contentType == client.Protobuf {
				t.Errorf("strings shared: %d of %d bytes", usedByShared, usedByDropped)
			}
			for i := range all {
				all[i].ManagedFields = nil
			}
			if !cmp.Equal(all, dropped) || !cmp.Equal(all, shared) {
				t.Error("the options change more than they should")
			}
			if n := values(dropped); n < 12*3*5 { // within one object the decoder of JSON may share some
				t.Errorf("only %d strings though none is to be shared", n)
			}
			if n := values(shared); n > 12*3 && contentType == client.Protobuf {
				t.Errorf("%d strings where %d are different", n, 12*3)
			}
			// A string, short or long, is all that is left of an object.
			limit = keptObjects*64 + 64<<10
			names, used := keeping(t, limit, contentType, body, 1000, client.Options{}, func(m *metav1.PartialObjectMetadata) string { return m.Name })
			if used > limit {
				t.Errorf("%d names keep %d bytes", len(names), used)
			}
			limit = keptObjects * 2 * keptFields
			raws, used := keeping(t, limit, contentType, body, 1000, client.Options{}, func(m *metav1.PartialObjectMetadata) []byte {
				return m.ManagedFields[0].FieldsV1.GetRawBytes()[:1:1]
			})
			if used > limit {
				t.Errorf("%d pieces of managed fields keep %d bytes", len(raws), used)
			}
		})
	}
}

// In JSON, untyped objects share strings.
func TestUnstructuredShareStrings(t *testing.T) {
	body := keptBodies(t)[client.JSON]
	shared, alone := 0, 0
	for strings, places := range map[int]*int{0: &alone, 1000: &shared} {
		r := client.Interned(newResource[*unstructured.Unstructured](t, bodiesOf(client.JSON, body), client.Options{}), strings)
		var labels []*metav1.PartialObjectMetadata
		for _, o := range objects(list(t.Context(), client.Decoders(r, 1), metav1.ListOptions{})) {
			labels = append(labels, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Labels: o.GetLabels()}})
		}
		*places = values(labels)
	}
	if shared > 12*3 || alone < 12*3*5 {
		t.Errorf("%d strings where %d are different, and %d if none is to be shared", shared, 12*3, alone)
	}
}

// values counts the places in memory that the values of the last hundred objects' labels
// are in.
func values(objects []*metav1.PartialObjectMetadata) int {
	places := map[*byte]bool{}
	for _, m := range objects[len(objects)-100:] {
		for _, v := range m.Labels {
			places[unsafe.StringData(v)] = true
		}
	}
	return len(places)
}
