// Package debug is an HTTP page that shows what the informers, queues and controllers of a
// program do, and why a key is not reconciled now.
//
//	page := debug.New(debug.Options{Events: 256, Reconciles: 256})
//	page.AddManager(m) // all of a manager; or one by one:
//	err := debug.AddInformer(page, "pods", pods, nil)
//	err = page.AddController("nodes", c)
//	mux.Handle("/debug/kinform/", page)
//
// The page has no access control: mount it where only operators reach it.
//
// # Requests
//
// A [Page] answers GET and HEAD only, and changes nothing. It works under every prefix that ends
// with a slash. The last part of the path selects the answer:
//
//	(nothing)          the page itself
//	state.json         a [State]
//	informers.json     the informers of a State; likewise queues.json, controllers.json and
//	                     replicas.json.
//	                     ?name=N selects the one that was added under that name
//	story.json?key=K   a [Story]
//	events             a stream of States by server-sent events, one per second
//
// # Cost and concurrency
//
// A page has no goroutine. All viewers share one State per second, and the page reads nothing
// while nobody looks. The goroutine of a viewer's request writes to that viewer, without a lock.
// A viewer is dropped when a write takes 10 seconds. A State costs Queue.Snapshot for each
// queue, O(keys known) under the queue's lock, and O(handlers) for each informer. [Options] says
// what Events and Reconciles cost.
//
// # What is shown
//
// The page shows names, keys, versions, times and the text of errors. It shows unprintable
// characters of keys as escapes such as \u202e or \xff. It shows objects only with
// Options.Objects, and never the contents of Secrets, managed fields, or the annotation of
// kubectl's last apply.
package debug
