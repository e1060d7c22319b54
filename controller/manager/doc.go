// Package manager runs the controllers of a program, and the caches that they share, as one.
//
//	m := manager.New(manager.Options{})
//	m.AddCaches(websites, deployments)
//	manager.AddController(m, c, reconcile)
//	http.Handle("/healthz", m.Healthz())
//	http.Handle("/readyz", m.Readyz())
//
//	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
//	defer stop()
//	err := m.Run(ctx)
//
// # Order
//
// [Manager.Run] starts the caches, and waits until they are filled. Then it starts what
// [Manager.AddToAll] added. What [Manager.Add] added starts at the same time, or with an
// [Elector] once this process leads: until then the caches stay warm.
//
// When the context of Run is done, or leadership is lost, or something fails, everything that
// Add and AddToAll added is stopped first. The caches are stopped last, so a reconcile that
// is under way can read them to its end.
//
// # Errors
//
// If one thing fails or panics, everything stops, and Run returns the errors of all that failed,
// each with its name. The end of the context is no error.
//
// # Looking at it
//
// [Manager.Parts] lists the controllers of [AddController] with their informers, the caches, the
// Elector, and what [Manager.Show] named. The debug page and the metrics take a manager in one
// call: debug.Page.AddManager and AddManager of with/prometheus.
//
// # Signals
//
// The package does not handle signals: signal.NotifyContext does, as above. With stop called by
// context.AfterFunc(ctx, stop), a second signal ends the process at once.
package manager
