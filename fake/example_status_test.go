package fake_test

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
)

// Volume is a custom resource with a status.
type Volume struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Status            VolumeStatus `json:"status"`
}

type VolumeStatus struct {
	Phase string `json:"phase"`
}

// A test plays the controller that fills in the status.
func ExampleChangeStatus() {
	server := fake.New(fake.Options{})
	if err := fake.Register(server, kind.Of[*Volume](exampleV1, "volumes").WithSubresources("status"), fake.Rules{}); err != nil {
		fmt.Println(err)
		return
	}
	_, err := fake.Create(server, &Volume{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "data"}})
	fmt.Println(err)
	volume, err := fake.ChangeStatus(server, types.NamespacedName{Namespace: "prod", Name: "data"}, "volume-controller", func(v *Volume) error {
		v.Status.Phase = "Bound"
		return nil
	})
	fmt.Println(volume.Status.Phase, err)
	// Output:
	// <nil>
	// Bound <nil>
}
