package decode

import (
	"cmp"
	"reflect"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinform/kinform/internal/kubeproto"
)

// message has the methods that go-to-protobuf generates for a type.
type message interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// known is one type of client-go's scheme that has an encoding in protobuf.
type known struct {
	gvk  schema.GroupVersionKind
	typ  reflect.Type
	plan *kubeproto.Plan
}

func (k known) fresh() message { return reflect.New(k.typ).Interface().(message) }

func (k known) decode(data []byte, o kubeproto.Options) (message, error) {
	into := k.fresh()
	return into, k.plan.Decode(data, into, o)
}

// knownTypes returns all Go types of the scheme with a plan for each, in a fixed order. A
// Go type that has several names comes once.
func knownTypes(t testing.TB) []known {
	t.Helper()
	byType := map[reflect.Type]known{}
	for gvk, typ := range scheme.Scheme.AllKnownTypes() {
		if _, ok := reflect.New(typ).Interface().(message); !ok {
			continue
		}
		if k, seen := byType[typ]; seen && compare(k.gvk, gvk) < 0 {
			continue
		}
		byType[typ] = known{gvk: gvk, typ: typ}
	}
	var all []known
	for _, k := range byType {
		plan, err := kubeproto.Compile(k.typ)
		if err != nil {
			t.Errorf("%v: %v", k.gvk, err)
			continue
		}
		k.plan = plan
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b known) int { return compare(a.gvk, b.gvk) })
	if len(all) < 200 {
		t.Fatalf("%d types only: this scheme is not client-go's", len(all))
	}
	return all
}

func compare(a, b schema.GroupVersionKind) int {
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Kind, b.Kind))
}

// TestListsHaveItemsAsField2 checks an assumption of kubeproto.ListReader.
func TestListsHaveItemsAsField2(t *testing.T) {
	lists := 0
	for gvk, typ := range scheme.Scheme.AllKnownTypes() {
		items, ok := typ.FieldByName("Items")
		if _, list := reflect.New(typ).Interface().(interface{ GetRemainingItemCount() *int64 }); !ok || !list {
			continue
		}
		meta, _ := typ.FieldByName("ListMeta")
		if tag := items.Tag.Get("protobuf"); tag != "bytes,2,rep,name=items" {
			t.Errorf("%v: items are %q", gvk, tag)
		}
		if tag := meta.Tag.Get("protobuf"); tag != "bytes,1,opt,name=metadata" {
			t.Errorf("%v: metadata is %q", gvk, tag)
		}
		lists++
	}
	if lists < 50 {
		t.Errorf("%d lists only", lists)
	}
}

// TestObjectsHaveMetadataAsField1 checks an assumption of kubeproto.ParseMeta.
func TestObjectsHaveMetadataAsField1(t *testing.T) {
	objects := 0
	for gvk, typ := range scheme.Scheme.AllKnownTypes() {
		if _, ok := reflect.New(typ).Interface().(runtime.Object); !ok {
			continue
		}
		if meta, ok := typ.FieldByName("ObjectMeta"); ok {
			if tag := meta.Tag.Get("protobuf"); tag != "bytes,1,opt,name=metadata" {
				t.Errorf("%v: metadata is %q", gvk, tag)
			}
			objects++
		}
	}
	if objects < 50 {
		t.Errorf("%d objects only", objects)
	}
}
