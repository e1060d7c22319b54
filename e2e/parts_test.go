//go:build e2e

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/e2e/cluster"
	"github.com/kinform/kinform/shard"
	"github.com/kinform/kinform/with/kubernetes/core"
)

// TestParts: a server that selects by shards sends a cache only what it keeps, and one that does
// not sends all. On either, WaitForNow ends although nothing changes in the part, and has what
// changed in it.
func TestParts(t *testing.T) {
	for _, selects := range []bool{true, false} {
		t.Run(fmt.Sprint("selects ", selects), func(t *testing.T) {
			c := cluster.Start(t, cluster.Options{ExtraAPIServerArgs: []string{fmt.Sprint("--feature-gates=ShardedListAndWatch=", selects)}})
			conn, err := client.NewConnection(c.URL(), client.ConnectionOptions{CAFile: c.CAFile(), Token: c.Token()})
			must(t, err)
			defer conn.HTTP.CloseIdleConnections()
			set := new(shard.Hashes)
			handle := controller.Open(conn, core.ConfigMaps, controller.OpenOptions[*corev1.ConfigMap]{
				Client: client.Options{Namespace: "default", LabelSelector: "test=parts"},
				Part:   shard.Part[*corev1.ConfigMap]{Hashes: set, Field: shard.FieldUID},
			})
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			const objects = 300
			for n := range objects {
				_, err := handle.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
					Name: fmt.Sprint("c", n), Labels: map[string]string{"test": "parts"},
				}}, metav1.CreateOptions{})
				must(t, err)
			}
			running, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- handle.Run(running) }()
			sent := int64(0)
			for _, last := range []uint64{1<<62 - 1, 1<<63 - 1, 1<<61 - 1} {
				before := handle.Stats().Client.Objects
				must(t, errors.Join(set.Set(shard.HashRange{Last: last}), set.WaitForLists(ctx)))
				sent += handle.Stats().Client.Objects - before
				began := time.Now()
				must(t, handle.WaitForNow(ctx))
				t.Logf("up to %016x: %d objects in the cache, the server has sent %d; WaitForNow took %v",
					last, handle.AsInformer().Store().Len(), sent, time.Since(began))
			}
			if selects != (sent < objects*3/4) {
				t.Errorf("the server has sent %d objects of %d", sent, objects)
			}
			for obj := range handle.AsInformer().Store().Values() {
				if !set.Has(shard.ServerHash(string(obj.UID))) {
					t.Errorf("%s is not in the part", obj.Name)
				}
			}
			testNow(ctx, t, conn, handle, func(obj *corev1.ConfigMap) bool { return set.Has(shard.ServerHash(string(obj.UID))) })
			stop()
			must(t, <-ended)
		})
	}
}

// testNow calls WaitForNow when nothing of the cache has changed since others wrote, and when
// something has. It may take three seconds, and some more on a slow machine.
func testNow(ctx context.Context, t *testing.T, conn client.Connection, handle *controller.Handle[*corev1.ConfigMap], keeps func(*corev1.ConfigMap) bool) {
	maps, err := client.New(conn, core.ConfigMaps, client.Options{Namespace: "default"}) // no writes of the handle's own
	must(t, err)
	secrets, err := client.New(conn, core.Secrets, client.Options{Namespace: "default"})
	must(t, err)
	// create creates objects until one is in the part, or is not, and returns that.
	create := func(in bool) *corev1.ConfigMap {
		for {
			obj, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				GenerateName: "now-", Labels: map[string]string{"test": "parts"},
			}}, metav1.CreateOptions{})
			must(t, err)
			if keeps(obj) == in {
				return obj
			}
		}
	}
	another := func() {
		_, err := secrets.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{GenerateName: "now-"}}, metav1.CreateOptions{})
		must(t, err)
	}
	for _, step := range []struct {
		note string
		do   func() *corev1.ConfigMap // returns what the cache must have then
	}{
		{"another resource", func() *corev1.ConfigMap { another(); return nil }},
		{"an object outside", func() *corev1.ConfigMap { create(false); return nil }},
		{"one outside, and another resource", func() *corev1.ConfigMap { create(false); another(); return nil }},
		{"one inside, then one outside", func() *corev1.ConfigMap { obj := create(true); create(false); return obj }},
	} {
		want := step.do()
		limited, cancel := context.WithTimeout(ctx, 10*time.Second)
		began := time.Now()
		err := handle.WaitForNow(limited)
		cancel()
		t.Logf("%s: WaitForNow took %v", step.note, time.Since(began))
		if err != nil {
			t.Errorf("%s: %v", step.note, err)
		}
		if want != nil {
			if _, ok := handle.Cached(types.NamespacedName{Namespace: want.Namespace, Name: want.Name}); !ok {
				t.Errorf("%s: the cache lacks %s", step.note, want.Name)
			}
		}
	}
}
