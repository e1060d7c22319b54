package controllerruntime_test

import (
	"context"
	"log/slog"
	"os"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/with/clientgo"
	"github.com/kinform/kinform/with/controllerruntime"
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

func Example_oneController() {
	_ = func(m ctrl.Manager, reconciler reconcile.Reconciler) error {
		server, err := clientgo.Connection(m.GetConfig())
		if err != nil {
			return err
		}
		pods := kinform.Open(server, core.Pods)
		if err := m.Add(controllerruntime.Runnable(pods)); err != nil {
			return err
		}
		return ctrl.NewControllerManagedBy(m).Named("pods").
			WatchesRawSource(controllerruntime.Source(pods, &handler.TypedEnqueueRequestForObject[*corev1.Pod]{})).
			Complete(reconciler)
	}
}

// All libraries of the program write to one logger, in one format.
func Example_logs() {
	_ = func() {
		logger := slog.New(slog.NewJSONHandler(os.Stderr, nil))
		slog.SetDefault(logger)                                // Kinform
		ctrl.SetLogger(logr.FromSlogHandler(logger.Handler())) // controller-runtime
		klog.SetSlogLogger(logger)                             // client-go
	}
}
