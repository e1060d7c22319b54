// Package manager runs the controllers of a program and their caches as one.
//
//	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
//	defer stop()
//	err := manager.Run(ctx, websites, certificates) // two controllers
//
// A program that needs more makes a [Manager]:
//
//	m := manager.New(manager.Options{Elector: elector})
//	m.AddControllers(websites, certificates)
//	m.AddToAll("events", recorder)
//	http.Handle("/healthz", m.Healthz())
//	http.Handle("/readyz", m.Readyz())
//	err := m.Run(ctx)
//
// # Order
//
// [Manager.Run] starts what [Manager.AddToAll] added, such as a server of probes, and the caches that the controllers
// watch. When these are filled, it starts the controllers, and what [Manager.Add] added; with an [Elector], once this
// process leads: until then the caches stay warm.
//
// When the context of Run is done, or leadership is lost, or something fails, the controllers and what Add added are
// stopped first, then what AddToAll added, and the caches last. So a reconcile that is under way can read the caches to
// its end, and record events.
//
// # Errors
//
// What is wrong with the setup is kept until Run, which then runs nothing and returns all of it: of the manager, its
// controllers, their handles and indexes, the Elector and the other parts. So setup needs no error variables.
//
// If one thing fails or panics, everything stops, and Run returns the errors of all that failed,
// each with its name. The end of the context is no error.
//
// # Looking at it
//
// [Manager.Parts] lists the controllers, the caches, the Elector, and what [Manager.Show] named. The debug page and the
// metrics take a manager in one call: debug.Page.AddManager and AddManager of with/prometheus.
//
// # Signals
//
// The package does not handle signals: signal.NotifyContext does, as above. With stop called by
// context.AfterFunc(ctx, stop), a second signal ends the process at once.
package manager
