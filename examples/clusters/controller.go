// Package clusters copies ConfigMaps from one cluster, the hub, to several others. It has one cache per cluster,
// and one queue whose keys name the cluster and the object. So a key of one cluster cannot be used for another by
// mistake, and an error names the cluster.
//
// A cluster that cannot be reached does not hold up the others. When it is back, it gets what it missed. If it does
// not even refuse, a try ends after ten seconds, and at most two of the four workers wait for one cluster.
package clusters

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/queue"
	"github.com/kinform/kinform/with/kubernetes/core"
)

// Label marks what is copied in the hub, and the copies. A ConfigMap without it is left alone.
const Label = "example.com/copy"

// ErrForeign says that a cluster has a ConfigMap of the name which is not a copy.
var ErrForeign = errors.New("a ConfigMap of this name exists and is not a copy")

// Key is a ConfigMap in one of the clusters.
type Key struct {
	Cluster string
	kinform.Key
}

// String is the text of the key in logs. Without it, kinform.Key's would be used, which names no cluster.
func (k Key) String() string { return k.Cluster + ": " + k.Key.String() }

type handle = *kinform.Handle[*corev1.ConfigMap]

type copier struct {
	work     *controller.Controller[Key]
	hub      handle
	clusters map[string]handle
	turns    map[string]chan struct{} // per cluster: a value for each worker on it
}

// Run copies from the hub to the clusters, which have names, until ctx is done.
func Run(ctx context.Context, hub client.Connection, clusters map[string]client.Connection) error {
	c := open(hub, clusters)
	toAll := func(keys []Key, config *corev1.ConfigMap) []Key {
		for name := range c.clusters {
			keys = append(keys, Key{name, kinform.Key{Namespace: config.Namespace, Name: config.Name}})
		}
		return keys
	}
	controller.Watch(c.work, c.hub, toAll)
	m := manager.New(manager.Options{})
	m.AddControllers(c.work)
	for name, cluster := range c.clusters {
		m.Add("cache of "+name, cluster) // AddCaches would let the start of all wait for it
		m.Add("start of "+name, manager.Func(func(ctx context.Context) error { return c.join(ctx, name, cluster) }))
	}
	return m.Run(ctx)
}

// open makes the handles, which hold only ConfigMaps with the label.
func open(hub client.Connection, clusters map[string]client.Connection) *copier {
	c := &copier{clusters: map[string]handle{}, turns: map[string]chan struct{}{}}
	c.work = controller.New("copies", c.reconcile, controller.Options[Key]{
		Queue: queue.Options[Key]{Class: func(key Key) string { return key.Cluster }},
		Run:   queue.RunOptions{Workers: 4, Timeout: 10 * time.Second},
	})
	opts := controller.OpenOptions[*corev1.ConfigMap]{Client: client.Options{LabelSelector: Label}}
	c.hub = kinform.Open(hub, core.ConfigMaps, opts)
	for name, server := range clusters {
		c.turns[name] = make(chan struct{}, 2)
		c.clusters[name] = kinform.Open(server, core.ConfigMaps, opts)
	}
	return c
}

// join adds a cluster to the controller once its cache is filled. Added before, it would hold up the start of all.
// It adds the informer and not the handle: a controller lets every key wait until all its handles have caught up with
// their writes, and here a key waits only for its own cluster (reconcile).
func (c *copier) join(ctx context.Context, name string, cluster handle) error {
	select {
	case <-cluster.AsInformer().Synced():
	case <-ctx.Done():
		return nil
	}
	keyed := func(keys []Key, config *corev1.ConfigMap) []Key {
		return append(keys, Key{name, kinform.Key{Namespace: config.Namespace, Name: config.Name}})
	}
	controller.Watch(c.work, cluster.AsInformer(), keyed) // queues the copies that are there
	for key := range c.hub.AsInformer().Store().Keys() {
		c.work.Queue().Add(Key{name, key}) // and what must be copied
	}
	return nil
}

// reconcile makes a cluster's copy equal to the hub's ConfigMap. A cluster that has its share of the workers has to
// wait: it may be one that does not answer.
func (c *copier) reconcile(ctx context.Context, key Key) error {
	cluster, turn := c.clusters[key.Cluster], c.turns[key.Cluster]
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	default:
		return controller.Again(time.Second)
	}
	select {
	case <-cluster.AsInformer().Synced():
	default:
		return nil // join queues the key again
	}
	if err := c.copy(ctx, cluster, key.Key); err != nil {
		return fmt.Errorf("cluster %s: %w", key.Cluster, err)
	}
	return nil
}

// copy creates, updates or deletes the copy in a cluster.
func (c *copier) copy(ctx context.Context, cluster handle, key kinform.Key) error {
	if err := cluster.CatchUp(ctx); err != nil { // returns at once, unless a write had no clear answer
		return err
	}
	from, wanted := c.hub.Cached(key)
	now, there := cluster.Cached(key)
	switch {
	case wanted:
		return copyTo(ctx, cluster, from)
	case there:
		return controller.Delete(ctx, cluster, now, metav1.DeleteOptions{})
	}
	return nil
}

// copyTo creates or updates a copy, and sends nothing if the copy is right.
func copyTo(ctx context.Context, cluster handle, from *corev1.ConfigMap) error {
	first := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: from.Namespace, Name: from.Name, Labels: map[string]string{Label: from.Labels[Label]},
	}}
	_, _, err := controller.CreateOrUpdate(ctx, cluster, first, func(config *corev1.ConfigMap) error {
		if _, ours := config.Labels[Label]; !ours {
			return ErrForeign
		}
		config.Labels[Label] = from.Labels[Label]
		config.Data = maps.Clone(from.Data) // the values are read-only
		config.BinaryData = maps.Clone(from.BinaryData)
		return nil
	})
	return err
}
