package clientgo_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/shard"
	"github.com/kinform/kinform/with/clientgo"
)

// sharded is the part of cache.SharedInformer that client-go 0.38 added.
type sharded interface {
	SetShardSelector(sharding.Selector) error
}

// shardKeys returns the keys of an informer of the objects that selector selects, and the errors of its requests.
func shardKeys(t *testing.T, lw cache.ListerWatcher, selector sharding.Selector) (keys []string, failed []error) {
	inf := clientgo.NewSharedIndexInformer(lw, &corev1.ConfigMap{}, 0, nil)
	check(t, inf.SetWatchErrorHandler(func(_ *cache.Reflector, err error) { failed = append(failed, err) }))
	check(t, inf.SetTransform(func(obj any) (any, error) { // after the choice, which goes by the UID
		own := obj.(*corev1.ConfigMap).DeepCopy()
		own.UID = ""
		return own, nil
	}))
	check(t, inf.(sharded).SetShardSelector(selector))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	inf.RunWithContext(ctx)
	if err := inf.(sharded).SetShardSelector(nil); err == nil {
		t.Error("a selector after the start")
	}
	return inf.GetIndexer().ListKeys(), failed
}

// Two shards have each object once, with a server that selects and with one that does not, and no selector has all.
func TestSetShardSelector(t *testing.T) {
	for _, old := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			server, lw := newServerWith(t, fake.Options{NoSharding: old})
			var all []string
			for i := range 20 {
				name := fmt.Sprint("m", i)
				_, err := fake.Create(server, newMap(name, ""))
				check(t, err)
				all = append(all, "n/"+name)
			}
			var got []string
			for n := range 2 {
				selector, err := shard.Even(n, 2)
				check(t, err)
				keys, failed := shardKeys(t, lw, selector)
				if len(keys) == 0 || len(keys) == len(all) || len(failed) > 0 {
					t.Errorf("shard %d has %q, %v", n, keys, failed)
				}
				got = append(got, keys...)
			}
			slices.Sort(all)
			slices.Sort(got)
			if !slices.Equal(got, all) {
				t.Errorf("the shards have %q", got)
			}
			if whole, _ := shardKeys(t, lw, sharding.Everything()); len(whole) != len(all) {
				t.Errorf("all are %q", whole)
			}
		})
	}
}

// A selector that is refused is an error, and fails each request of the informer.
func TestSetShardSelectorRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, lw := newServer(t)
		_, err := fake.Create(server, newMap("one", ""))
		check(t, err)
		bad := sharding.NewSelector(sharding.ShardRangeRequirement{Key: "object.metadata.name", Start: "0x0", End: "0x1"})
		inf := clientgo.NewSharedIndexInformer(lw, &corev1.ConfigMap{}, 0, nil)
		if err := inf.(sharded).SetShardSelector(bad); !errors.Is(err, reflector.ErrInvalid) {
			t.Errorf("refused with %v", err)
		}
		var failed error
		check(t, inf.SetWatchErrorHandler(func(_ *cache.Reflector, err error) { failed = err }))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		inf.RunWithContext(ctx)
		if !errors.Is(failed, reflector.ErrInvalid) || len(inf.GetIndexer().ListKeys()) > 0 {
			t.Errorf("requests fail with %v, and it has %q", failed, inf.GetIndexer().ListKeys())
		}
	})
}
