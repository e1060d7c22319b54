// Package simulated lets package sim explore managers of controller-runtime.
package simulated

import (
	"context"
	"net/http"
	"sync"
	_ "unsafe"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/internal/lot"
)

// Manager makes a function for sim.Program.Run of one that runs a manager.
func Manager(run func(ctx context.Context, cfg *rest.Config) error) func(context.Context, client.Connection) error {
	return func(ctx context.Context, to client.Connection) error {
		once.Do(prepare)
		forget()
		return run(ctx, &rest.Config{Host: to.URL, Transport: forgetting{to.HTTP.Transport}, QPS: -1})
	}
}

var once sync.Once

func prepare() {
	metrics.DefaultBindAddress = "0"
	utilruntime.ErrorHandlers = nil
	klog.SetLogger(logr.Discard())
	jitterRand = lot.Fraction
}

// forgetting forgets names with each request.
type forgetting struct{ http.RoundTripper }

func (f forgetting) RoundTrip(r *http.Request) (*http.Response, error) {
	forget()
	return f.RoundTripper.RoundTrip(r)
}

//go:linkname jitterRand k8s.io/apimachinery/pkg/util/wait.jitterRand
var jitterRand func() float64

//go:linkname nameLock sigs.k8s.io/controller-runtime/pkg/controller.nameLock
var nameLock sync.Mutex

//go:linkname usedNames sigs.k8s.io/controller-runtime/pkg/controller.usedNames
var usedNames sets.Set[string]

func forget() {
	nameLock.Lock()
	defer nameLock.Unlock()
	clear(usedNames)
}
