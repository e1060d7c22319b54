package clientgo_test

import (
	"context"
	"net"
	"net/http/httptrace"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/with/clientgo"
)

// A relist brings new contents at the same version, and a deletion may carry the version of the list,
// as with client-go. So does a list that comes as the beginning of a watch.
func TestNewContentsAndDeletionAtAnOldVersion(t *testing.T) {
	for name, newInformer := range ours {
		t.Run(name, func(t *testing.T) { testNewContents(t, newInformer, false) })
		t.Run(name+", streamed", func(t *testing.T) { testNewContents(t, newInformer, true) })
	}
}

func testNewContents(t *testing.T, newInformer constructor, streams bool) {
	synctest.Test(t, func(t *testing.T) {
		value := "old"
		cm := func(name, rv, value string) corev1.ConfigMap {
			return corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", UID: "u", ResourceVersion: rv}, Data: map[string]string{"v": value}}
		}
		var watcher *watch.FakeWatcher
		inf := newInformer(t, &cache.ListWatch{
			ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
				if streams {
					t.Error("a LIST")
				}
				return &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "10"}, Items: []corev1.ConfigMap{cm("a", "5", value), cm("b", "10", "x")}}, nil
			},
			WatchFuncWithContext: func(_ context.Context, opts metav1.ListOptions) (watch.Interface, error) {
				if opts.SendInitialEvents == nil {
					watcher = watch.NewFake()
					return watcher, nil
				}
				if !streams {
					return nil, apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("ListOptions").GroupKind(), "", nil)
				}
				watcher = watch.NewFakeWithChanSize(3, false)
				a, b := cm("a", "5", value), cm("b", "10", "x")
				watcher.Add(&a)
				watcher.Add(&b)
				end := corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "10", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}
				watcher.Action(watch.Bookmark, &end)
				return watcher, nil
			},
		}, 0, cache.Indexers{})
		var seen []string
		_, err := inf.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(old, obj any) {
			seen = append(seen, old.(*corev1.ConfigMap).Data["v"]+"→"+obj.(*corev1.ConfigMap).Data["v"])
		}})
		check(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			inf.RunWithContext(ctx)
			close(ended)
		}()
		defer func() {
			cancel()
			<-ended
		}()
		synctest.Wait()
		value = "new"
		watcher.Error(&metav1.Status{Status: metav1.StatusFailure, Code: 410, Reason: metav1.StatusReasonExpired})
		watcher.Stop()
		time.Sleep(time.Minute)
		synctest.Wait()
		if obj, ok, _ := inf.GetStore().GetByKey("ns/a"); !ok || obj.(*corev1.ConfigMap).Data["v"] != "new" {
			t.Errorf("after the relist, the store has %v", obj)
		}
		if !slices.Contains(seen, "old→new") {
			t.Errorf("handlers got the updates %q", seen)
		}
		b := cm("b", "10", "x")
		watcher.Delete(&b)
		synctest.Wait()
		if _, ok, _ := inf.GetStore().GetByKey("ns/b"); ok {
			t.Error("the deletion is lost")
		}
	})
}

// A change of a CustomResourceDefinition gives objects new contents at their versions and ends the watches, which go on
// from the newest version. So the end of a watch is followed by a list if the next request has the same connection,
// and not after a restart of the server.
func TestNewContentsAfterAnEarlyEnd(t *testing.T) {
	for want, restarts := range map[string]bool{"new": false, "old": true} {
		synctest.Test(t, func(t *testing.T) {
			conn, other := net.Pipe()
			value, watcher := "old", (*watch.FakeWatcher)(nil)
			connect := func(ctx context.Context) error {
				if trace := httptrace.ContextClientTrace(ctx); trace != nil {
					trace.GotConn(httptrace.GotConnInfo{Conn: conn})
				}
				return ctx.Err()
			}
			inf := clientgo.NewSharedIndexInformer(&cache.ListWatch{
				ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
					if err := connect(ctx); err != nil {
						return nil, err
					}
					list := &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "10"}}
					for name, rv := range map[string]string{"a": "5", "b": "10"} {
						if opts.FieldSelector == "" || strings.Contains(opts.FieldSelector, "metadata.name="+name) {
							list.Items = append(list.Items, corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", UID: "u", ResourceVersion: rv}})
						}
						if name == "a" && opts.FieldSelector == "" {
							list.Items[len(list.Items)-1].Data = map[string]string{"v": value}
						}
					}
					return list, nil
				},
				WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
					if err := connect(ctx); err != nil {
						return nil, err
					}
					if opts.SendInitialEvents != nil {
						return nil, apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("ListOptions").GroupKind(), "", nil)
					}
					watcher = watch.NewFake()
					return watcher, nil
				},
			}, &corev1.ConfigMap{}, 0, cache.Indexers{})
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() {
				inf.RunWithContext(ctx)
				close(ended)
			}()
			synctest.Wait()
			time.Sleep(10 * time.Second)
			value = "new"
			if restarts {
				conn = other
			}
			first := watcher
			first.Stop()
			time.Sleep(time.Minute)
			synctest.Wait()
			if obj, _, _ := inf.GetStore().GetByKey("ns/a"); watcher == first || obj.(*corev1.ConfigMap).Data["v"] != want {
				t.Errorf("the server restarts: %v; the store has %v, want %s; watched again: %v", restarts, obj, want, watcher != first)
			}
			cancel()
			<-ended
		})
	}
}
