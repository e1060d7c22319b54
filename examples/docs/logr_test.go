package docs_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/with/kubernetes/core"
)

// A program that logs by logr, for example to klog or zap, receives the records that Kinform logs
// by slog. The logger is any logr.Logger, such as klog.Background() or ctrl.Log. Errors come as
// Info at level 0, because logr has no warnings. Records of slog's level Debug come at V(4).
func Example_logr() {
	theirs := funcr.New(func(prefix, args string) { fmt.Println(args) }, funcr.Options{})

	server := fake.New(fake.Options{})
	fake.Register(server, core.Pods, fake.Rules{})
	fake.Create(server, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "one"}})
	source, err := fake.NewSource[*corev1.Pod](server, fake.Selection{})
	if err != nil {
		panic(err)
	}
	pods, err := informer.New(source, idOf, informer.Options[*corev1.Pod]{
		Logger: slog.New(logr.ToSlogHandler(theirs)),
	})
	if err != nil {
		panic(err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- pods.Run(ctx) }()
	pods.WaitForSync(ctx)
	cancel()
	<-ended
	// Output:
	// "level"=0 "msg"="informer: object is skipped" "resource"="pods" "key"="" "resourceVersion"="2" "error"="it has no label id" "event"="ADDED"
}

// idOf is a key function that fails for an object without a label.
func idOf(pod *corev1.Pod) (kinform.Key, error) {
	if id := pod.Labels["id"]; id != "" {
		return kinform.Key{Name: id}, nil
	}
	return kinform.Key{}, errors.New("it has no label id")
}
