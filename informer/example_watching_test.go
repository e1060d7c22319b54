package informer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/store"
)

// report is what a page says about any informer.
func report(of informer.Untyped) {
	stats := of.Stats()
	fmt.Println(of.Resource(), "objects:", stats.Objects, "lists:", stats.Lists)
	behind := func(h informer.HandlerStats) bool { return !h.Synced || h.Lag > 0 }
	missing := func(n informer.NamespaceStats) bool { return !n.Synced || n.Refused != nil }
	fmt.Println("a handler is behind:", slices.ContainsFunc(of.Handlers(), behind), "a namespace is missing:", slices.ContainsFunc(stats.Namespaces, missing))
}

// printing is a handler that is a type.
type printing struct{}

func (printing) Handle(ev informer.Event[key, *widget]) { fmt.Println(ev.Type, ev.Key) }

// A program looks at its informers without their types, and takes a handler away again.
func ExampleUntyped() {
	server, widgets, stop := start(informer.Options[*widget]{}, newWidget("default", "one", "node-1"))
	defer stop()
	var handler informer.Handler[key, *widget] = printing{}
	var registration *informer.Registration
	registration, err := widgets.AddHandler(handler, informer.HandlerOptions[*widget]{Name: "printing"})
	if err != nil {
		fmt.Println(err)
		return
	}
	<-registration.Synced()
	var any informer.Informed[key, *widget] = widgets // handles are, too
	report(any.AsInformer().Untyped())

	registration.Remove()
	if err := registration.Wait(context.Background()); err != nil {
		fmt.Println(err)
	}
	fake.Delete[*widget](server, key{Namespace: "default", Name: "one"})
	fmt.Println("handlers:", len(widgets.Handlers()))
	// Output:
	// Added default/one
	// widgets.example.com objects: 1 lists: 1
	// a handler is behind: false a namespace is missing: false
	// handlers: 0
}

// A start that waits for a cache says what it waits for, and whether waiting helps.
func ExampleInformer_WaitForSync() {
	why := func(err error) string {
		var never *informer.NotSyncingError
		var unsynced *informer.UnsyncedError
		switch {
		case errors.As(err, &never):
			return "somebody has to change something: " + never.Err.Error()
		case errors.As(err, &unsynced) && unsynced.NeverRan:
			return "nobody runs the informer of " + unsynced.Resource
		case errors.As(err, &unsynced):
			return "not yet: " + unsynced.Why
		case errors.Is(err, informer.ErrStopped):
			return "stopped"
		case errors.Is(err, informer.ErrHandlerBehind):
			return "a handler is too far behind" // WaitFor and WaitForRV can end so
		}
		return fmt.Sprint(err)
	}
	_, widgets, stop := start(informer.Options[*widget]{})
	fmt.Println(why(widgets.WaitForSync(context.Background())))
	fmt.Println("a second Run:", errors.Is(widgets.Run(context.Background()), informer.ErrRunning))
	stop()
	fmt.Println(why(widgets.WaitForRV(context.Background(), "1000")))

	// A function that opens informers need not return an error beside each.
	none := informer.Failed[*widget]("widgets", errors.New("widgets: there is no connection: set KUBECONFIG"))
	fmt.Println(why(none.WaitForSync(context.Background())))
	// Output:
	// <nil>
	// a second Run: true
	// stopped
	// widgets: there is no connection: set KUBECONFIG
}

// A test fills a cache without a server.
func ExampleWriter() {
	server := fake.New(fake.Options{})
	fake.Register(server, kind.Of[*widget](schema.GroupVersion{Group: "example.com", Version: "v1"}, "widgets"), fake.Rules{})
	source, _ := fake.NewSource[*widget](server, fake.Selection{})
	widgets, err := informer.New(source, store.ObjectKey, informer.Options[*widget]{Mutations: informer.MutationsSampled})
	if errors.Is(err, informer.ErrInvalid) {
		fmt.Println(err) // a mistake in the program
	}
	if err := informer.Writer(widgets).Set(newWidget("default", "one", "node-1")); err != nil {
		fmt.Println(err)
	}
	all := informer.NewLister(widgets)
	fmt.Println(len(all.In("default").List(nil)))
	// Output: 1
}
