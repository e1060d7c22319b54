package group_test

import (
	"context"
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/with/clientgo/internal/group"
)

// The result has the cause of a context that ended before the first list.
func TestNotSynced(t *testing.T) {
	var g group.Group[group.Synced]
	pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	refused := errors.New("refused")
	g.Informer(pods, nil, func() cache.SharedIndexInformer {
		return cache.NewSharedIndexInformer(&cache.ListWatch{
			ListWithContextFunc:  func(context.Context, metav1.ListOptions) (runtime.Object, error) { return nil, refused },
			WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return nil, refused },
		}, nil, 0, nil)
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	g.StartWithContext(ctx)
	enough := errors.New("enough")
	cancel(enough)
	got := g.WaitForCacheSyncWithContext(ctx)
	if synced, started := got.Synced[pods]; synced || !started || !errors.Is(got.Err, enough) {
		t.Errorf("got %+v", got)
	}
	g.Shutdown()
}
