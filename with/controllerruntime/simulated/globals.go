package simulated

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	_ "unsafe" // for linkname

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/kinform/kinform/internal/lot"
)

// prepare changes, once, what the libraries keep for a whole process and what does not fit virtual time.
var prepare = sync.OnceFunc(func() {
	metrics.DefaultBindAddress = "0"
	utilruntime.ErrorHandlers = nil // one sleeps until the time of the last error, which was later in another schedule
	klog.SetLogger(logr.Discard())
	utilruntime.PanicHandlers = append(utilruntime.PanicHandlers, func(ctx context.Context, value any) {
		slog.InfoContext(ctx, "the program panicked", "error", fmt.Sprint("panic: ", value)) // for package sim
	})
	jitterRand = func() float64 { return lot.Fraction(0) }
})

// forgetNames forgets which controllers there are: controller-runtime lets each name be used once in a process.
func forgetNames() {
	nameLock.Lock()
	defer nameLock.Unlock()
	clear(usedNames)
}

// If a later version has no such variables, these are new ones, and changing them does nothing: jitter is drawn by lot,
// and controllers need the option SkipNameValidation.

//go:linkname jitterRand k8s.io/apimachinery/pkg/util/wait.jitterRand
var jitterRand func() float64

//go:linkname nameLock sigs.k8s.io/controller-runtime/pkg/controller.nameLock
var nameLock sync.Mutex

//go:linkname usedNames sigs.k8s.io/controller-runtime/pkg/controller.usedNames
var usedNames sets.Set[string]
