package controllerruntime_test

import (
	"context"

	"k8s.io/client-go/rest"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/with/clientgo"
	"github.com/kinform/kinform/with/kubernetes/core"
)

// A controller that has moved uses the rest.Config of the program.
func Example_connection() {
	_ = func(ctx context.Context, config *rest.Config) error {
		server, err := clientgo.Connection(config)
		if err != nil {
			return err
		}
		return kinform.Open(server, core.Pods).Run(ctx)
	}
}
