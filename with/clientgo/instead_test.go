package clientgo_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	coreinformers "k8s.io/client-go/informers/core/v1"
	clientsetfake "k8s.io/client-go/kubernetes/fake"
	clientsettesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/with/clientgo"
)

// An informer takes the place of a generated one, with all that it was made of.
func TestInsteadOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clients := clientsetfake.NewClientset(newMap("one", "1"), newMap("two", "2"))
		tweak := func(opts *metav1.ListOptions) { opts.FieldSelector = "metadata.name=one" }
		theirs := coreinformers.NewFilteredConfigMapInformer(clients, "n", time.Minute, cache.Indexers{"value": byValue}, tweak)
		check(t, theirs.SetTransform(func(obj any) (any, error) { obj.(*corev1.ConfigMap).Data["v"] += "!"; return obj, nil }))
		failures := 0
		check(t, theirs.SetWatchErrorHandler(func(*cache.Reflector, error) { failures++ }))
		clients.PrependReactor("list", "configmaps", failOnce())
		inf := clientgo.InsteadOf(theirs)
		if inf == theirs || clientgo.InsteadOf(inf) != inf {
			t.Error("the same informer, or not the same one the second time")
		}
		resyncs := 0
		_, err := inf.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, _ any) { resyncs++ }})
		check(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
		defer cancel()
		inf.RunWithContext(ctx)
		// The fake clientset does not select by fields, so both are there.
		if keys, err := inf.GetIndexer().IndexKeys("value", "1!"); err != nil || len(keys) != 1 || failures == 0 || resyncs < 4 {
			t.Errorf("keys %q, %v; %d failures, %d resyncs", keys, err, failures, resyncs)
		}
		for _, action := range clients.Actions() {
			if got := selectorOf(action); got != "metadata.name=one" {
				t.Errorf("%s with selector %q", action.GetVerb(), got)
			}
		}
	})
}

// failOnce fails the first request.
func failOnce() clientsettesting.ReactionFunc {
	failed := false
	return func(clientsettesting.Action) (bool, runtime.Object, error) {
		first := !failed
		failed = true
		return first, nil, errors.New("not yet")
	}
}

func selectorOf(action clientsettesting.Action) string {
	switch action := action.(type) {
	case clientsettesting.ListAction:
		return action.GetListRestrictions().Fields.String()
	case clientsettesting.WatchAction:
		return action.GetWatchRestrictions().Fields.String()
	}
	return ""
}

// What cannot be replaced stays.
func TestInsteadOfNothing(t *testing.T) {
	withHandler := cache.NewSharedIndexInformer(nil, &corev1.ConfigMap{}, 0, nil)
	_, err := withHandler.AddEventHandler(cache.ResourceEventHandlerFuncs{})
	check(t, err)
	withObject := cache.NewSharedIndexInformer(nil, &corev1.ConfigMap{}, 0, nil)
	check(t, withObject.GetStore().Add(newMap("one", "1")))
	ran := cache.NewSharedIndexInformer(&cache.ListWatch{}, &corev1.ConfigMap{}, 0, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ran.RunWithContext(ctx)
	for name, inf := range map[string]cache.SharedIndexInformer{
		"with a handler": withHandler, "with an object": withObject, "that ran": ran, "of the program": struct{ cache.SharedIndexInformer }{withObject}, "nil": nil,
	} {
		if clientgo.InsteadOf(inf) != inf {
			t.Errorf("an informer %s was replaced", name)
		}
	}
}
