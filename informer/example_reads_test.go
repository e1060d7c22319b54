package informer_test

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/store"
)

// start runs an informer of the widgets of a server in memory, for an example. stop returns
// when Run has.
func start(opts informer.Options[*widget], objs ...*widget) (server *fake.Server, widgets *informer.Informer[key, *widget], stop func()) {
	server = fake.New(fake.Options{})
	fake.Register(server, kind.Of[*widget](schema.GroupVersion{Group: "example.com", Version: "v1"}, "widgets"), fake.Rules{})
	for _, w := range objs {
		fake.Create(server, w)
	}
	source, err := fake.NewSource[*widget](server, fake.Selection{})
	if err != nil {
		panic(err)
	}
	widgets, err = informer.New(source, store.ObjectKey, opts)
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- widgets.Run(ctx) }()
	if err := widgets.WaitForSync(ctx); err != nil {
		panic(err)
	}
	return server, widgets, func() { cancel(); <-ended }
}

// A handler with a filter: objects that begin to pass are added, those that cease to are
// deleted.
func ExampleHandlerOptions() {
	server, widgets, stop := start(informer.Options[*widget]{}, newWidget("prod", "one", "node-1"))
	defer stop()
	seen := make(chan informer.Event[key, *widget])
	widgets.AddHandler(informer.HandlerFunc[key, *widget](func(ev informer.Event[key, *widget]) { seen <- ev }),
		informer.HandlerOptions[*widget]{
			Name:     "node-1",
			Filter:   func(w *widget) bool { return w.Spec.Node == "node-1" },
			Coalesce: true, // the informer does not wait for it
		})

	fmt.Println((<-seen).Type)
	fake.Patch[*widget](server, key{Namespace: "prod", Name: "one"}, []byte(`{"spec":{"node":"node-2"}}`))
	fmt.Println((<-seen).Type)
	fake.Patch[*widget](server, key{Namespace: "prod", Name: "one"}, []byte(`{"spec":{"node":"node-1"}}`))
	fmt.Println((<-seen).Type)
	// Output:
	// Added
	// Deleted
	// Added
}

// Events in a loop, which ends when its body or the context says so.
func ExampleInformer_Events() {
	server, widgets, stop := start(informer.Options[*widget]{}, newWidget("prod", "one", "node-1"))
	defer stop()
	for ev := range widgets.Events(context.Background(), handlerOptions{}) {
		fmt.Println(ev.Type, ev.Key, ev.Object.Spec.Node, "initial:", ev.Initial)
		switch ev.Type {
		case informer.Added:
			fake.Patch[*widget](server, ev.Key, []byte(`{"spec":{"node":"node-2"}}`))
		case informer.Updated:
			fake.Delete[*widget](server, ev.Key)
		}
		if ev.Type == informer.Deleted {
			break
		}
	}
	// Output:
	// Added prod/one node-1 initial: true
	// Updated prod/one node-2 initial: false
	// Deleted prod/one node-2 initial: false
}

// Reads by namespace and labels, from indexes where there are such.
func ExampleLister() {
	web, db := newWidget("prod", "web", "node-1"), newWidget("prod", "db", "node-1")
	web.Labels, db.Labels = map[string]string{"app": "web"}, map[string]string{"app": "db"}
	_, widgets, stop := start(informer.Options[*widget]{
		Indexes: index.Of[*widget](index.Namespace[*widget](), index.Labels[*widget]("labels")),
	}, web, db)
	defer stop()

	prod := informer.NewLister(widgets).In("prod")
	for w := range prod.All(labels.SelectorFromSet(labels.Set{"app": "web"})) {
		fmt.Println(w.Name)
	}
	_, err := prod.Get(key{Namespace: "prod", Name: "cache"})
	fmt.Println(apierrors.IsNotFound(err), err)
	// Output:
	// web
	// true widgets.example.com "cache" not found
}

// A process reads its own writes at once, whether or not the watch has brought them.
func ExampleInformer_RecordWrite() {
	server, widgets, stop := start(informer.Options[*widget]{}, newWidget("prod", "one", "node-1"))
	defer stop()
	one := key{Namespace: "prod", Name: "one"}

	answer, _ := fake.Patch[*widget](server, one, []byte(`{"spec":{"node":"node-2"}}`))
	if err := widgets.RecordWrite(answer, ""); err != nil {
		fmt.Println(err)
	}
	w, _ := widgets.Get(one)
	fmt.Println("on", w.Spec.Node)
	// Output: on node-2
}

// And its own deletions.
func ExampleInformer_RecordGone() {
	server, widgets, stop := start(informer.Options[*widget]{}, newWidget("prod", "one", "node-1"))
	defer stop()
	one := key{Namespace: "prod", Name: "one"}

	w, _ := widgets.Get(one)
	fake.Delete[*widget](server, one)
	if err := widgets.RecordGone(one, w.UID, w.ResourceVersion); err != nil {
		fmt.Println(err)
	}
	_, ok := widgets.Get(one)
	fmt.Println("there:", ok)
	// Output: there: false
}

// A handler that writes to the objects that it shares with everybody is found out.
func ExampleMutations() {
	found := make(chan *informer.MutationError, 1)
	_, widgets, stop := start(informer.Options[*widget]{
		Mutations: informer.MutationsAll,
		OnError: func(err error) {
			var mutation *informer.MutationError
			if errors.As(err, &mutation) {
				found <- mutation
			}
		},
	}, newWidget("prod", "one", "node-1"))
	defer stop()
	widgets.AddHandler(informer.HandlerFunc[key, *widget](func(ev informer.Event[key, *widget]) {
		ev.Object.Spec.Node = "mine"
	}), informer.HandlerOptions[*widget]{Name: "careless"})
	mutation := <-found
	fmt.Println(mutation.Key, mutation.Handlers, mutation.Diff != "")
	// Output: prod/one [careless] true
}
