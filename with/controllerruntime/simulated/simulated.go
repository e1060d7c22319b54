// Package simulated lets package sim explore controllers that use controller-runtime, as they are.
//
//	func TestExplore(t *testing.T) {
//		sim.Explore(t, func() sim.Program {
//			return sim.Program{
//				Server: server(),
//				Run: simulated.Manager(func(ctx context.Context, cfg *rest.Config) error {
//					mgr, err := ctrl.NewManager(cfg, options)
//					if err != nil {
//						return err
//					}
//					if err := setup(mgr); err != nil {
//						return err
//					}
//					return mgr.Start(ctx)
//				}),
//				Users: users,
//			}
//		})
//	}
//
// # What stops an exploration
//
// Time in a schedule is virtual. It stands still while a goroutine computes, waits for the network or waits for a lock.
// What does so forever ends the exploration with "a schedule has not ended after 1m0s of real time", the state of
// a goroutine and its place:
//
//   - "IO wait in ...(*Server).serve": the manager listens on a port. Leave Metrics.BindAddress,
//     HealthProbeBindAddress and PprofBindAddress empty, and register no webhooks: what they do belongs into
//     fake.Options.Mutate and Validate.
//   - "sync.Mutex.Lock in" a function of the program: another goroutine sends a request and holds that lock.
//   - "runnable in ...(*runnableGroup).Start": the manager's context has ended while its caches fill. controller-runtime
//     v0.25 then computes until they are full. Schedules avoid that: no process crashes before a list or a watch.
//
// A cache of controller-runtime lists objects in an order by lot. So a controller that handles them in the order of a list
// sends the same requests in another order in each run, and one schedule may break a rule in one run and none in the
// next. If it sends other requests, Explore says that the program is not deterministic.
package simulated

import (
	"context"
	"net/http"

	"k8s.io/client-go/rest"

	"github.com/kinform/kinform/client"
)

// Manager makes a function for sim.Program.Run of one that makes a manager of controller-runtime for cfg and starts it
// with ctx. Use cfg for all clients, and ctx instead of ctrl.SetupSignalHandler, which works once in a process.
// cfg has no limit of requests per second.
//
// From the first run on, and until the test binary ends: managers listen on no port for metrics unless an address is
// given; client-go logs nothing, and does not wait after an error that nobody handles; what client-go draws by lot
// depends on the clock alone; and several controllers may have the same name, since each start of the program has its own.
func Manager(run func(ctx context.Context, cfg *rest.Config) error) func(context.Context, client.Connection) error {
	return func(ctx context.Context, to client.Connection) error {
		prepare()
		forgetNames()
		return run(ctx, &rest.Config{Host: to.URL, Transport: road{to.HTTP.Transport}, QPS: -1})
	}
}

// road is the way to the server. Between two requests of one process, others may have started.
type road struct{ http.RoundTripper }

func (r road) RoundTrip(request *http.Request) (*http.Response, error) {
	defer forgetNames()
	return r.RoundTripper.RoundTrip(request)
}
