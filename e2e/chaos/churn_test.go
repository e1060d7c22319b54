//go:build e2e

package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/e2e/beside"
	"github.com/kinform/kinform/e2e/oracle"
)

const (
	namespaces = 4
	perKind    = 60
	still      = 20 // gadgets that are never written again
	lasting    = 20 // places of each kind whose objects are never replaced
	markerName = "chaos-marker"
)

// ours reports whether an object is of the test. The server has others, which it writes itself.
func ours(key beside.Key) bool { return strings.HasPrefix(key.Name, "chaos-") }

// namespaceOf returns the namespace of a kind's i-th object.
func namespaceOf(k beside.Kind, i int) string {
	if k.GVR == nodes.GVR {
		return ""
	}
	return oracle.NamespaceName(i % namespaces)
}

func markerKey(k beside.Kind) beside.Key {
	return beside.Key{Namespace: namespaceOf(k, 0), Name: markerName}
}

// place is where there is one object at any time, under a name that changes.
type place struct {
	kind       beside.Kind
	i          int
	generation int
	n          int // writes so far
}

func (p *place) namespace() string { return namespaceOf(p.kind, p.i) }
func (p *place) name() string      { return fmt.Sprintf("chaos-%03d-%05d", p.i, p.generation) }
func (p *place) path() string      { return p.kind.Path(p.namespace(), p.name()) }

// churn writes to objects of all kinds, each kind from its own goroutine.
type churn struct {
	server  *oracle.Client
	seed    uint64
	places  map[string][]*place // by resource
	written atomic.Int64
	runs    uint64
}

// pauses are those between two writes to a kind.
var pauses = map[string]time.Duration{
	"leases": 15 * time.Millisecond, "secrets": 80 * time.Millisecond, "gadgets": 80 * time.Millisecond, "nodes": 200 * time.Millisecond,
}

func newChurn(server *oracle.Client, seed uint64) *churn {
	c := &churn{server: server, seed: seed, places: map[string][]*place{}}
	for _, k := range stored {
		for i := range perKind {
			c.places[k.GVR.Resource] = append(c.places[k.GVR.Resource], &place{kind: k, i: i})
		}
	}
	return c
}

// fill makes the objects and markers.
func (c *churn) fill(ctx context.Context) error {
	for _, k := range stored {
		n := perKind + 1
		if k.GVR == gadgets.GVR {
			n += still
		}
		err := oracle.Each(ctx, n, 0, func(ctx context.Context, i int) error {
			obj, namespace := k.Object(markerName), namespaceOf(k, 0)
			switch {
			case i < perKind:
				p := c.places[k.GVR.Resource][i]
				obj, namespace = k.Object(p.name()), p.namespace()
			case i > perKind:
				obj, namespace = k.Object(fmt.Sprintf("chaos-still-%03d", i)), namespaceOf(k, i)
			}
			// The server may need a moment until it serves a new custom resource.
			return c.insist(ctx, func() error {
				_, err := oracle.Create(ctx, c.server, k.Path(namespace, ""), &obj)
				if k.GVR == gadgets.GVR && apierrors.IsNotFound(err) {
					return errAgain
				}
				return err
			}, apierrors.IsAlreadyExists)
		})
		if err != nil {
			return fmt.Errorf("filling %s: %w", k, err)
		}
	}
	return nil
}

// run writes until stop is called, which returns when the last write has been answered.
func (c *churn) run(ctx context.Context) (stop func() error) {
	over := make(chan struct{})
	errs := make([]error, len(stored))
	c.runs++
	var wg sync.WaitGroup
	for i, k := range stored {
		random := rand.New(rand.NewPCG(c.seed+c.runs, uint64(i)))
		wg.Go(func() { errs[i] = c.write(ctx, k, random, over) })
	}
	return sync.OnceValue(func() error {
		close(over)
		wg.Wait()
		return errors.Join(errs...)
	})
}

func (c *churn) write(ctx context.Context, k beside.Kind, random *rand.Rand, over <-chan struct{}) error {
	tick := time.NewTicker(pauses[k.GVR.Resource])
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-over:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
		p := c.places[k.GVR.Resource][random.IntN(perKind)]
		err := c.update(ctx, p)
		if p.i >= lasting && random.IntN(8) == 0 && err == nil {
			err = c.replace(ctx, p)
		}
		if err != nil {
			return fmt.Errorf("writing %s: %w", p.path(), err)
		}
		c.written.Add(1)
	}
}

// update changes an object as its owner would.
func (c *churn) update(ctx context.Context, p *place) error {
	p.n++
	path, patch := p.path(), map[string]any{"metadata": map[string]any{"annotations": map[string]string{"n": fmt.Sprint(p.n)}}}
	switch p.kind.GVR.Resource {
	case "leases":
		patch = map[string]any{"spec": map[string]any{"renewTime": time.Now().UTC().Format(metav1.RFC3339Micro)}}
	case "nodes":
		path, patch = path+"/status", map[string]any{"status": nodeStatus(p.n)}
	case "gadgets":
		patch["spec"] = map[string]any{"size": p.n, "tags": map[string]any{"n": fmt.Sprint(p.n)}}
	}
	return c.insist(ctx, func() error {
		_, err := oracle.Patch[metav1.PartialObjectMetadata](ctx, c.server, path, patch)
		return err
	}, nil)
}

// replace deletes an object and makes another one in its place.
func (c *churn) replace(ctx context.Context, p *place) error {
	err := c.insist(ctx, func() error { return c.server.Delete(ctx, p.path()) }, apierrors.IsNotFound)
	if err != nil {
		return err
	}
	p.generation++
	obj := p.kind.Object(p.name())
	return c.insist(ctx, func() error {
		_, err := oracle.Create(ctx, c.server, p.kind.Path(p.namespace(), ""), &obj)
		return err
	}, apierrors.IsAlreadyExists)
}

// mark writes the markers and returns their versions.
func (c *churn) mark(ctx context.Context) (map[schema.GroupResource]string, error) {
	var mu sync.Mutex
	versions := map[schema.GroupResource]string{}
	err := oracle.Each(ctx, len(stored), 0, func(ctx context.Context, i int) error {
		k := stored[i]
		patch := map[string]any{"metadata": map[string]any{"annotations": map[string]string{"mark": fmt.Sprint(rand.Int64())}}}
		return c.insist(ctx, func() error {
			got, err := oracle.Patch[metav1.PartialObjectMetadata](ctx, c.server, k.Path(namespaceOf(k, 0), markerName), patch)
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				versions[k.GVR.GroupResource()] = got.ResourceVersion
			}
			return err
		}, nil)
	})
	return versions, err
}

var errAgain = errors.New("not yet")

// insist repeats a write until the server has taken or refused it. An earlier try that got through
// shows as an error for which done, if not nil, holds. A server that is about to start refuses
// administrators, and knows no custom resources, so those answers count for nothing either.
func (c *churn) insist(ctx context.Context, once func() error, done func(error) bool) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := once()
		if err == nil || done != nil && done(err) {
			return nil
		}
		if final(err) {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

func final(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	switch code := status.Status().Code; code {
	case 401, 403, 404, 409:
		return false
	default:
		return code < 429
	}
}
