// Package metrics shows a controller's numbers to Prometheus.
package metrics

import (
	"context"
	"errors"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/queue"
	"github.com/kinform/kinform/with/kubernetes/core"
	kinformprom "github.com/kinform/kinform/with/prometheus"
)

// Program is a controller with the page that Prometheus scrapes.
type Program struct {
	// Page is to be served beside [Program.Run].
	Page http.Handler
	work *controller.Controller[kinform.Key]
}

// New returns a program that works on a server.
func New(server client.Connection) (*Program, error) {
	m := kinformprom.New()
	if server.HTTP == nil {
		server.HTTP = http.DefaultClient
	}
	counted := *server.HTTP // a copy, since others may use the client too
	counted.Transport = m.Transport(counted.Transport)
	server.HTTP = &counted

	pods := kinform.Open(server, core.Pods)
	work := controller.New("pods", reconcile, controller.Options[kinform.Key]{
		Queue: queue.Options[kinform.Key]{Timing: true}, // for the metrics of durations
	})
	controller.For(work, pods)
	registry := prometheus.NewRegistry()
	err := errors.Join(m.AddHandle("pods", pods), m.AddController("pods", work), registry.Register(m))
	return &Program{promhttp.HandlerFor(registry, promhttp.HandlerOpts{}), work}, err
}

// Run runs the controller.
func (p *Program) Run(ctx context.Context) error { return manager.Run(ctx, p.work) }

// reconcile has nothing to do.
func reconcile(context.Context, kinform.Key) error { return nil }
