package informers_test

import (
	"context"

	"k8s.io/client-go/kubernetes"

	"github.com/kinform/kinform/with/clientgo/informers" // was "k8s.io/client-go/informers"
)

// A program with a factory changes one import.
func Example_factory() {
	ctx, clients := context.Background(), kubernetes.Interface(nil)
	factory := informers.NewSharedInformerFactory(clients, 0)
	pods := factory.Core().V1().Pods().Lister()
	factory.StartWithContext(ctx)
	factory.WaitForCacheSyncWithContext(ctx)
	_, _ = pods.Pods("prod").Get("web-1")
}
