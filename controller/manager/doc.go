// Package manager runs the controllers of a program and their caches together.
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
// [Manager.Run] first starts what [Manager.AddToAll] added, such as a server of probes, and the
// caches that the controllers watch. When the caches are filled, it starts the controllers and what
// [Manager.Add] added. With an [Elector], it starts these only once this process leads. Until then
// the caches stay warm.
//
// When the context of Run is done, or something fails, Run stops the controllers and what Add added
// first, then what AddToAll added, and the caches last. So a running reconcile can read the caches
// to its end, and record events.
//
// # Leadership
//
// When this process loses the leadership, as when the API server does not answer for a while, only
// the controllers and what Add added stop: their contexts end. Caches stay filled, and what AddToAll
// added goes on. Run stands for election again, and starts them again when this process leads: no
// list is sent, and no key is lost. Keys stay in the queues of the controllers, keys of running
// reconciles come back, and changes queue more. Options.EndWithLeadership ends Run instead.
//
// A reconcile that ignores its context may go on while another process leads. Open the handles with
// leader.Elector's Gate, so that its writes are refused. If it goes on for Options.Grace, Run ends.
//
// # Errors
//
// Setup needs no error variables. Run returns every mistake in the setup at once and runs nothing:
// mistakes in the manager, its controllers, their handles and indexes, the Elector and the other
// parts.
//
// If one thing fails or panics, everything stops, and Run returns all the errors, each with the
// name of the part that failed. The end of the context is no error.
//
// # Looking at it
//
// [Manager.Parts] lists the controllers, the caches, the Elector, and what [Manager.Show] named.
// The debug page and the metrics take a manager in one call: debug.Page.AddManager and AddManager
// of with/prometheus. What they find wrong is an error of Run ([Manager.AddError]).
//
// # Signals
//
// The package does not handle signals. Use signal.NotifyContext, as above. If you call
// context.AfterFunc(ctx, stop) as well, a second signal ends the process at once.
package manager
