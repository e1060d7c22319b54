package clientgo

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptrace"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/watchlist"

	"github.com/kinform/kinform/internal/mistake"
	"github.com/kinform/kinform/reflector"
)

// errNoListerWatcher is reported as the failure of each request.
var errNoListerWatcher = errors.New("clientgo: the ListerWatcher is nil")

// Source makes a reflector.Source of a ListerWatcher: of a cache.ListWatch over a clientset, a
// dynamic or a metadata client, or a fake of one of them. name names the collection in errors and
// logs, such as "pods in namespace prod". T is the type of the objects in its lists and watches;
// objects of another type are reported as *reflector.ObjectError and left out.
//
//	source := clientgo.Source[*corev1.Pod]("pods", cache.NewListWatchFromClient(rest, "pods", "prod", fields.Everything()))
//	pods, err := informer.New(source, store.ObjectKey, informer.Options[*corev1.Pod]{})
//
// A ListerWatcher that says it knows no streaming lists, as client-go's fakes do, is not asked for
// one. A nil one fails each request. client.Resource costs less: it decodes objects one by one,
// while a ListerWatcher returns whole lists.
func Source[T runtime.Object](name string, lw cache.ListerWatcher) reflector.Source[T] {
	if mistake.IsNil(lw) {
		return failing[T](name, errNoListerWatcher)
	}
	with := cache.ToListerWatcherWithContext(lw)
	return reflector.SourceFuncs[T]{
		Name: name,
		ListFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return with.ListWithContext(traced(ctx), opts)
		},
		WatchFunc: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			return with.WatchWithContext(traced(ctx), opts)
		},
		NoWatchList: watchlist.DoesClientNotSupportWatchListSemantics(lw),
	}
}

// traced returns a context by which client-go's clients tell the reflector which connection they use.
func traced(ctx context.Context) context.Context {
	attempt := reflector.AttemptOf(ctx)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) { attempt.Connected(info.Conn) },
	})
}

// failing returns a source of which each request fails with err.
func failing[T runtime.Object](name string, err error) reflector.Source[T] {
	return reflector.SourceFuncs[T]{
		Name:      name,
		ListFunc:  func(context.Context, metav1.ListOptions) (runtime.Object, error) { return nil, err },
		WatchFunc: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return nil, err },
	}
}

// checkType returns a function whose error says that an object has not the type of example or, if
// that is unstructured and names a kind, not that kind. A nil example fits every object.
func checkType(example runtime.Object) func(runtime.Object) error {
	if mistake.IsNil(example) {
		return func(runtime.Object) error { return nil }
	}
	want := reflect.TypeOf(example)
	unstructured, _ := example.(runtime.Unstructured)
	return func(obj runtime.Object) error {
		if got := reflect.TypeOf(obj); got != want {
			return fmt.Errorf("it is a %v and no %v", got, want)
		}
		if unstructured == nil {
			return nil
		}
		got, kind := obj.GetObjectKind().GroupVersionKind(), example.GetObjectKind().GroupVersionKind()
		if !kind.Empty() && got != kind {
			return fmt.Errorf("it is of %v and not of %v", got, kind)
		}
		return nil
	}
}
