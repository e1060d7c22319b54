package kubeproto_test

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinform/kinform/internal/kubeproto"
)

// answer is the answer of an API server for a list of two objects.
func answer() io.Reader {
	list := metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: "42"}}
	for _, name := range []string{"first", "second"} {
		list.Items = append(list.Items, metav1.PartialObjectMetadata{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "web"}},
		})
	}
	raw, _ := list.Marshal()
	u := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}, Raw: raw}
	data, _ := u.Marshal()
	return bytes.NewReader(append([]byte("k8s\x00"), data...))
}

// A list is decoded while it arrives, one item at a time.
func Example() {
	plan, err := kubeproto.Compile(reflect.TypeFor[metav1.PartialObjectMetadata]())
	if err != nil {
		log.Fatal(err) // the type cannot come as protobuf: ask for JSON
	}
	options := kubeproto.Options{Strings: kubeproto.NewStrings(0), DropManagedFields: true}
	list := kubeproto.NewListReader(answer(), 0)
	for {
		item, err := list.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		var obj metav1.PartialObjectMetadata
		if err := plan.Decode(item, &obj, options); err != nil {
			log.Fatal(err)
		}
		fmt.Println(obj.Name, obj.Labels)
	}
	fmt.Println("at", list.Meta().ResourceVersion)
	// Output:
	// first map[app:web]
	// second map[app:web]
	// at 42
}

// Errors say where they are.
func ExamplePlan_Decode() {
	plan, err := kubeproto.Compile(reflect.TypeFor[metav1.PartialObjectMetadata]())
	if err != nil {
		log.Fatal(err)
	}
	err = plan.Decode([]byte{0x0a, 0x03, 0x0a, 0x05, 'a'}, &metav1.PartialObjectMetadata{}, kubeproto.Options{})
	fmt.Println(err)
	// Output: protobuf at byte 2, metadata.name: unexpected EOF
}
