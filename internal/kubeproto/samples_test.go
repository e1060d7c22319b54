package kubeproto

import (
	"errors"
	"reflect"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }

type (
	color  string
	words  []string
	branch struct {
		Name string   `protobuf:"bytes,1,opt,name=name"`
		Next *branch  `protobuf:"bytes,2,opt,name=next"`
		All  []branch `protobuf:"bytes,3,rep,name=all"`
	}
)

// Unmarshal makes words a message, as go-to-protobuf does for some lists. It is never called.
func (*words) Unmarshal([]byte) error { return errors.New("called") }

// everything has a field of each kind that an API may have.
type everything struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	Text     string   `json:"text" protobuf:"bytes,2,opt,name=text"`
	Color    color    `json:"color" protobuf:"bytes,3,opt,name=color,casttype=color"`
	TextPtr  *string  `json:"textPtr" protobuf:"bytes,4,opt,name=textPtr"`
	Texts    []string `json:"texts" protobuf:"bytes,5,rep,name=texts"`
	Colors   []color  `json:"colors" protobuf:"bytes,6,rep,name=colors"`
	Blob     []byte   `json:"blob" protobuf:"bytes,7,opt,name=blob"`
	Blobs    [][]byte `json:"blobs" protobuf:"bytes,8,rep,name=blobs"`
	Yes      bool     `json:"yes" protobuf:"varint,9,opt,name=yes"`
	YesPtr   *bool    `json:"yesPtr" protobuf:"varint,10,opt,name=yesPtr"`
	Yeses    []bool   `json:"yeses" protobuf:"varint,11,rep,name=yeses"`
	Int8     int8     `json:"int8" protobuf:"varint,12,opt,name=int8"`
	Uint16   uint16   `json:"uint16" protobuf:"varint,13,opt,name=uint16"`
	Int32    int32    `json:"int32" protobuf:"varint,14,opt,name=int32"`
	Int64    int64    `json:"int64" protobuf:"varint,15,opt,name=int64"`
	Int32Ptr *int32   `json:"int32Ptr" protobuf:"varint,16,opt,name=int32Ptr"`
	Int32s   []int32  `json:"int32s" protobuf:"varint,17,rep,name=int32s"`
	Uint64   uint64   `json:"uint64" protobuf:"varint,18,opt,name=uint64"`
	Float32  float32  `json:"float32" protobuf:"fixed32,19,opt,name=float32"`
	Float64  *float64 `json:"float64" protobuf:"bytes,20,opt,name=float64"` // as in JSONSchemaProps

	Branch   branch    `json:"branch" protobuf:"bytes,21,opt,name=branch"`
	Pointers []*branch `json:"pointers" protobuf:"bytes,22,rep,name=pointers"`

	Labels2 map[string]string           `json:"labels2" protobuf:"bytes,23,rep,name=labels2"`
	Colors2 map[color]color             `json:"colors2" protobuf:"bytes,24,rep,name=colors2"`
	Amounts map[color]resource.Quantity `json:"amounts" protobuf:"bytes,25,rep,name=amounts"`
	Data    map[string][]byte           `json:"data" protobuf:"bytes,26,rep,name=data"`
	Tree    map[string]branch           `json:"tree" protobuf:"bytes,27,rep,name=tree"`
	Extra   map[string]words            `json:"extra" protobuf:"bytes,28,rep,name=extra"`
	Times   map[string]metav1.Time      `json:"times" protobuf:"bytes,29,rep,name=times"`
	Words   words                       `json:"words" protobuf:"bytes,30,opt,name=words"`
	Time    metav1.Time                 `json:"time" protobuf:"bytes,31,opt,name=time"`
	TimePtr *metav1.Time                `json:"timePtr" protobuf:"bytes,32,opt,name=timePtr"`
	Micro   *metav1.MicroTime           `json:"micro" protobuf:"bytes,33,opt,name=micro"`
	Took    metav1.Duration             `json:"took" protobuf:"bytes,34,opt,name=took"`
	Port    intstr.IntOrString          `json:"port" protobuf:"bytes,35,opt,name=port"`
	Size    *resource.Quantity          `json:"size" protobuf:"bytes,36,opt,name=size"`
	Sizes   []resource.Quantity         `json:"sizes" protobuf:"bytes,37,rep,name=sizes"`
	Foreign *foreign                    `json:"foreign" protobuf:"bytes,38,opt,name=foreign"`
	Several map[string]foreign          `json:"several" protobuf:"bytes,39,rep,name=several"`
	Fields  *metav1.FieldsV1            `json:"fields" protobuf:"bytes,40,opt,name=fields"`
	Entries []metav1.ManagedFieldsEntry `json:"entries" protobuf:"bytes,41,rep,name=entries"`
	Hidden  func()                      `json:"-"`
	_       int                         // is left alone
}

// foreign is known by its method only: what it was given is kept as it is.
type foreign struct {
	got string
}

func (f *foreign) Unmarshal(data []byte) error {
	switch f.got += string(data); f.got {
	case "bad":
		return errors.New("bad bytes")
	case "worse":
		panic("worse bytes")
	}
	return nil
}
