package logr_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/kind"
)

// widget is a custom resource.
type widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
}

// The logger is any logr.Logger, such as klog.Background() or ctrl.Log. Errors come as Info
// at level 0, because logr has no warnings. Records of slog's level Debug come at V(4).
func Example() {
	theirs := funcr.New(func(prefix, args string) { fmt.Println(args) }, funcr.Options{})

	server := fake.New(fake.Options{})
	fake.Register(server, kind.Of[*widget](schema.GroupVersion{Group: "example.com", Version: "v1"}, "widgets"), fake.Rules{})
	fake.Create(server, &widget{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "one"}})
	source, err := fake.NewSource[*widget](server, fake.Selection{})
	if err != nil {
		panic(err)
	}
	widgets, err := informer.New(source, idOf, informer.Options[*widget]{
		Logger: slog.New(logr.ToSlogHandler(theirs)),
	})
	if err != nil {
		panic(err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- widgets.Run(ctx) }()
	widgets.WaitForSync(ctx)
	cancel()
	<-ended
	// Output:
	// "level"=0 "msg"="informer: object is skipped" "resource"="widgets.example.com" "key"="" "resourceVersion"="2" "error"="it has no label id" "event"="ADDED"
}

// idOf is a key function that does not know what to do with every object.
func idOf(w *widget) (string, error) {
	if id := w.Labels["id"]; id != "" {
		return id, nil
	}
	return "", errors.New("it has no label id")
}
