package reflector_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/shard"
)

// health says how a reflector is.
func health(stats reflector.Stats) {
	again := stats.LastRelists[0] != reflector.Relist{}
	expired := func(by reflector.Relists) uint64 { return by.Expired }
	fails := stats.Failing != reflector.Failing{}
	alone := stats.Polling != reflector.Polling{} // watches bring nothing
	fmt.Println("lists:", stats.Lists, "in place of a watch:", again, "of these for expired versions:", expired(stats.Relists))
	fmt.Println("fails:", fails, "lists alone:", alone)
}

// A filter before the sink, and what the reflector did.
func ExampleFilter() {
	ctx, cancel := context.WithCancel(context.Background())
	var source reflector.Source[string] = history{listed: 2, done: cancel, changes: []reflector.Event[string]{
		{Type: reflector.Added, ResourceVersion: "1", Object: "apple"},
		{Type: reflector.Added, ResourceVersion: "2", Object: "pear"},
		{Type: reflector.Added, ResourceVersion: "3", Object: "plum"},
	}}
	source = reflector.Tweak(source, func(opts *metav1.ListOptions) { opts.LabelSelector = "ripe" }) // asks the server
	source = reflector.Filter(source, func(fruit string) bool { return strings.HasPrefix(fruit, "p") })
	var sink reflector.Sink[string] = printer{}
	r, err := reflector.New(source, sink, reflector.Options{Tuning: reflector.Tuning{DisableWatchList: true}})
	if errors.Is(err, reflector.ErrInvalid) {
		fmt.Println(err) // a mistake in the program
	}
	follow(ctx, r)
	health(r.Stats())
	// Output:
	// listed pear
	// that was all at resourceVersion 2
	// ADDED plum at 3
	// Run returned <nil>
	// lists: 1 in place of a watch: false of these for expired versions: 0
	// fails: false lists alone: false
}

// clusterNodes has the two functions of another library's client.
func clusterNodes(names ...string) reflector.SourceFuncs[*metav1.PartialObjectMetadata] {
	return reflector.SourceFuncs[*metav1.PartialObjectMetadata]{
		Name: "nodes",
		ListFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			list := &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}
			for _, name := range names {
				list.Items = append(list.Items, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}})
			}
			return list, nil
		},
		WatchFunc:   func(context.Context, metav1.ListOptions) (watch.Interface, error) { return watch.NewFake(), nil },
		NoWatchList: true, // a fake clientset knows none
	}
}

// The two functions of another library are a source, and two shards share its objects.
func ExampleSourceFuncs() {
	seen := map[reflector.EventType]int{}
	for n := range 2 {
		half, err := shard.Even(n, 2)
		if err != nil {
			fmt.Println(err)
			return
		}
		part, err := reflector.Shard(clusterNodes("a", "b", "c"), half)
		if err != nil {
			fmt.Println(err)
			return
		}
		_, err = part.List(context.Background(), metav1.ListOptions{}, func(ev reflector.Event[*metav1.PartialObjectMetadata], err error) bool {
			if err == nil && !ev.Omitted {
				seen[ev.Type]++
			}
			return true
		})
		if err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(seen)
	// Output: map[ADDED:3]
}

// follow runs a reflector until its source has sent everything.
func follow(ctx context.Context, r *reflector.Reflector[string]) {
	fmt.Println("Run returned", r.Run(ctx))
}

// wired is a source over a connection of its own. It shares the breaker of the server with the other sources of the
// connection, so that one request finds out for all that the server is back, and it says how far a request has come.
type wired struct {
	history
	server *reflector.Breaker
}

var _ reflector.Server = wired{}

func (w wired) Breaker() *reflector.Breaker { return w.server }

func (w wired) List(ctx context.Context, opts metav1.ListOptions, yield func(reflector.Event[string], error) bool) (metav1.ListMeta, error) {
	trace(reflector.AttemptOf(ctx))
	return w.history.List(ctx, opts, yield)
}

// trace says how far a request has come: here all at once.
func trace(attempt *reflector.Attempt) {
	attempt.Send()
	attempt.Connected(nil)
	attempt.Answered()
	attempt.Accepted()
}

// A source of one's own that speaks to an API server.
func ExampleServer() {
	ctx, cancel := context.WithCancel(context.Background())
	source := wired{history{listed: 1, done: cancel, changes: []reflector.Event[string]{
		{Type: reflector.Added, ResourceVersion: "1", Object: "apple"},
	}}, new(reflector.Breaker)}
	r, err := reflector.New[string](source, printer{}, reflector.Options{Tuning: reflector.Tuning{DisableWatchList: true}})
	if err != nil {
		fmt.Println(err)
		return
	}
	follow(ctx, r)
	// Output:
	// listed apple
	// that was all at resourceVersion 1
	// Run returned <nil>
}
