package kinform_test

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/controller/events"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer/factory"
	"github.com/kinform/kinform/kind"
)

// TestNoKind: whatever takes a kind refuses nil by an error.
func TestNoKind(t *testing.T) {
	type object = *metav1.PartialObjectMetadata
	var none *kind.Kind[object]
	server := fake.New(fake.Options{})
	conn := client.Connection{URL: fake.URL, HTTP: server.Client()}
	recorder := events.New(conn, events.Options{Controller: "example.com/test"})
	if err := recorder.Err(); err != nil {
		t.Fatal(err)
	}
	reporter := events.For(recorder, none)
	reporter.Normal(new(metav1.PartialObjectMetadata), "Made", "Make", "records nothing")
	if stats := recorder.Stats(); stats.Recorded != 0 {
		t.Errorf("a Reporter without a kind records: %+v", stats)
	}
	for name, err := range map[string]error{
		"Check":         none.Check(),
		"Open":          kinform.Open(conn, none).Err(),
		"client.New":    second(client.New(conn, none, client.Options{})),
		"NewLike":       second(client.NewLike(conn, none, new(metav1.PartialObjectMetadata), client.Options{})),
		"Register":      fake.Register(server, none, fake.Rules{}),
		"factory.For":   second(factory.For(factory.New(conn, factory.Options{}), none, factory.Request[object]{})),
		"SetController": controller.SetController(new(metav1.PartialObjectMetadata), new(metav1.PartialObjectMetadata), none),
		"Adopt":         controller.Adopt(new(metav1.PartialObjectMetadata), new(metav1.PartialObjectMetadata), none),
		"events.For":    recorder.Err(),
	} {
		if !errors.Is(err, kind.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }
