package kubeproto

import (
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

type (
	// widget is like the type of a custom resource: without protobuf.
	widget struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata,omitempty"`
		Spec              struct{ Size int } `json:"spec"`
	}
	halfTagged struct {
		metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
		Late              string `json:"late"`
	}
	dashed struct {
		Late string `json:"late" protobuf:"-"`
	}
	deep struct {
		In []struct {
			Deeper map[string]halfTagged `protobuf:"bytes,1,rep,name=deeper"`
		} `protobuf:"bytes,1,rep,name=in"`
	}
	twice struct {
		A string `protobuf:"bytes,1,opt,name=a"`
		B string `protobuf:"bytes,1,opt,name=b"`
	}
	badTag struct {
		A string `protobuf:"bytes"`
	}
	zeroTag struct {
		A string `protobuf:"bytes,0,opt"`
	}
	hugeTag struct {
		A string `protobuf:"bytes,4096,opt"`
	}
	private struct {
		_ string `protobuf:"bytes,1,opt"`
	}
	intKeys struct {
		A map[int]string `protobuf:"bytes,1,rep"`
	}
	intValues struct {
		A map[string]int `protobuf:"bytes,1,rep"`
	}
	channel struct {
		A chan int `protobuf:"bytes,1,opt"`
	}
	twoStars struct {
		A **string `protobuf:"bytes,1,opt"`
	}
	scalarPointers struct {
		A []*int `protobuf:"varint,1,rep"`
	}
	lists struct {
		A [][]string `protobuf:"bytes,1,rep"`
	}
	anything struct {
		A any `protobuf:"bytes,1,opt"`
	}
	// promoted has the Unmarshal method of ObjectMeta, which knows nothing of Late.
	promoted struct {
		metav1.ObjectMeta `json:"metadata"`
		Late              string `json:"late"`
	}
	promotedPointer struct {
		*metav1.ObjectMeta
		Late string `json:"late"`
	}
)

func TestCompileRefuses(t *testing.T) {
	for _, test := range []struct {
		typ   reflect.Type
		owner reflect.Type
		field string
	}{
		{nil, nil, ""},
		{typeOf[int](), typeOf[int](), ""},
		{typeOf[**widget](), typeOf[*widget](), ""},
		{typeOf[map[string]any](), typeOf[map[string]any](), ""},
		{typeOf[widget](), typeOf[widget](), "ObjectMeta"},
		{typeOf[unstructured.Unstructured](), typeOf[unstructured.Unstructured](), "Object"},
		{typeOf[metav1.Table](), typeOf[metav1.Table](), "ListMeta"},
		{typeOf[halfTagged](), typeOf[halfTagged](), "Late"},
		{typeOf[dashed](), typeOf[dashed](), "Late"},
		{typeOf[*deep](), typeOf[halfTagged](), "Late"},
		{typeOf[twice](), typeOf[twice](), "B"},
		{typeOf[badTag](), typeOf[badTag](), "A"},
		{typeOf[zeroTag](), typeOf[zeroTag](), "A"},
		{typeOf[hugeTag](), typeOf[hugeTag](), "A"},
		{typeOf[private](), typeOf[private](), "_"},
		{typeOf[intKeys](), typeOf[intKeys](), "A"},
		{typeOf[intValues](), typeOf[intValues](), "A"},
		{typeOf[channel](), typeOf[channel](), "A"},
		{typeOf[twoStars](), typeOf[twoStars](), "A"},
		{typeOf[scalarPointers](), typeOf[scalarPointers](), "A"},
		{typeOf[lists](), typeOf[lists](), "A"},
		{typeOf[anything](), typeOf[anything](), "A"},
		{typeOf[promoted](), typeOf[promoted](), "ObjectMeta"},
		{typeOf[promotedPointer](), typeOf[promotedPointer](), "ObjectMeta"},
	} {
		plan, err := Compile(test.typ)
		var u *UnsupportedError
		if plan != nil || !errors.As(err, &u) {
			t.Errorf("%v: plan %v, error %v", test.typ, plan, err)
			continue
		}
		if u.Type != test.owner || u.Field != test.field || u.Reason == "" {
			t.Errorf("%v: %v is about %v.%s, want %v.%s", test.typ, err, u.Type, u.Field, test.owner, test.field)
		}
		if test.field != "" && !strings.Contains(err.Error(), test.owner.String()+"."+test.field) {
			t.Errorf("%v: the message is %q", test.typ, err)
		}
	}
}

func TestCompileTakes(t *testing.T) {
	for _, typ := range []reflect.Type{
		typeOf[everything](), typeOf[*everything](), typeOf[branch](), typeOf[foreign](), typeOf[struct{}](),
		typeOf[metav1.PartialObjectMetadata](), typeOf[metav1.PartialObjectMetadataList](), typeOf[metav1.Status](),
		typeOf[metav1.ObjectMeta](), typeOf[metav1.ListMeta](), typeOf[metav1.List](), typeOf[metav1.WatchEvent](),
		typeOf[metav1.APIResourceList](), typeOf[metav1.DeleteOptions](), typeOf[runtime.Unknown](),
	} {
		plan, err := Compile(typ)
		if err != nil {
			t.Errorf("%v: %v", typ, err)
			continue
		}
		if want := typ; plan.typ != want && reflect.PointerTo(plan.typ) != want {
			t.Errorf("%v: the plan is for %v", want, plan.typ)
		}
	}
}

// A type that turns out to be foreign when others hold it already.
type (
	cycleA struct {
		B    *cycleB `protobuf:"bytes,1,opt,name=b"`
		Last string  `json:"last"` // no tag: so the method is asked
	}
	cycleB struct {
		A    *cycleA `protobuf:"bytes,1,opt,name=a"`
		Name string  `protobuf:"bytes,2,opt,name=name"`
	}
)

func (a *cycleA) Unmarshal(data []byte) error {
	a.Last = string(data)
	return nil
}

func TestForeignInCycle(t *testing.T) {
	plan := mustCompile[cycleB](t)
	var got cycleB
	if err := plan.Decode(messageField(1, textField(1, "x")), &got, Options{}); err != nil {
		t.Fatal(err)
	}
	if want := string(textField(1, "x")); got.A == nil || got.A.Last != want {
		t.Errorf("the method was not given the bytes: %+v", got.A)
	}
	if plan := mustCompile[cycleA](t); plan.root.shape != shapeForeign {
		t.Error("a type with a method and a field that only the method can know is decoded by its fields")
	}
}

func TestDecodeInto(t *testing.T) {
	plan := mustCompile[branch](t)
	for _, into := range []any{nil, branch{}, (*branch)(nil), new(everything), new(*branch)} {
		if err := plan.Decode(nil, into, Options{}); err == nil {
			t.Errorf("decoded into %T", into)
		}
	}
}

// TestFieldFillsALine holds a field to the size that its comment claims.
func TestFieldFillsALine(t *testing.T) {
	if n := unsafe.Sizeof(field{}); n != 64 {
		t.Errorf("a field has %d bytes", n)
	}
}

// TestPlansShareLayouts: plans of one type, and of types that hold the same struct, share its
// layout, whichever goroutine compiled it first.
func TestPlansShareLayouts(t *testing.T) {
	type leaf struct {
		Name string `protobuf:"bytes,1,opt,name=name"`
	}
	type one struct {
		Leaf leaf `protobuf:"bytes,1,opt,name=leaf"`
	}
	type other struct {
		Leaves []leaf `protobuf:"bytes,2,rep,name=leaves"`
	}
	plans := make([]*Plan, 20)
	var all sync.WaitGroup
	for i := range plans {
		all.Go(func() {
			of, err := typeOf[one](), error(nil)
			if i%2 == 1 {
				of = typeOf[other]()
			}
			if plans[i], err = Compile(of); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	of := func(p *Plan) *layout { return p.root.layout.fields[len(p.root.layout.fields)-1].layout }
	for i, p := range plans {
		if p.root.layout != plans[i%2].root.layout || of(p) != of(plans[0]) {
			t.Error("plan", i, "has layouts of its own")
		}
	}
}
