package informer_test

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/queue"
	"github.com/kinform/kinform/store"
)

// An informer with an index and a handler, on a server in memory.
func Example() {
	server := fake.New(fake.Options{})
	fake.Register(server, kind.Of[*widget](schema.GroupVersion{Group: "example.com", Version: "v1"}, "widgets"), fake.Rules{})
	fake.Create(server, newWidget("prod", "one", "node-1"))
	fake.Create(server, newWidget("prod", "two", "node-1"))

	source, err := fake.NewSource[*widget](server, fake.Selection{})
	if err != nil {
		panic(err)
	}
	byNode := index.New("node", func(dst []string, w *widget) []string { return append(dst, w.Spec.Node) })
	widgets, err := informer.New(source, store.ObjectKey, informer.Options[*widget]{Indexes: index.Of(byNode)})
	if err != nil {
		panic(err)
	}
	changed := make(chan string)
	widgets.AddHandler(informer.HandlerFuncs[key, *widget]{
		Updated: func(ev informer.Event[key, *widget]) {
			changed <- fmt.Sprintf("%v moved from %s to %s", ev.Key, ev.Old.Spec.Node, ev.Object.Spec.Node)
		},
	}, handlerOptions{})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- widgets.Run(ctx) }()

	widgets.WaitForSync(ctx)
	fmt.Println("on node-1:", byNode.Count(widgets.Store(), "node-1"))
	fake.Patch[*widget](server, key{Namespace: "prod", Name: "two"}, []byte(`{"spec":{"node":"node-2"}}`))
	fmt.Println(<-changed)
	fmt.Println("on node-1:", byNode.Count(widgets.Store(), "node-1"))
	cancel()
	fmt.Println("ended:", <-ended)
	// Output:
	// on node-1: 2
	// prod/two moved from node-1 to node-2
	// on node-1: 1
	// ended: <nil>
}

// The keys of all events go to a queue of the same key type.
func ExampleHandlerFunc() {
	keys := queue.New(queue.Options[key]{})
	handler := informer.HandlerFunc[key, *widget](func(ev informer.Event[key, *widget]) { keys.Add(ev.Key) })
	handler.Handle(informer.Event[key, *widget]{Type: informer.Deleted, Key: key{Namespace: "prod", Name: "one"}})
	item, err := keys.Get(context.Background())
	fmt.Println(item.Key, err)
	// Output: prod/one <nil>
}
