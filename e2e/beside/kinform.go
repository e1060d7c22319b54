//go:build e2e

package beside

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/store"
)

// kinformCache is a Cache with the informer's lifetime.
type kinformCache interface {
	Cache
	Run(ctx context.Context) error
}

// Kinform returns the side of Kinform: informers of kinds, on one connection.
func Kinform(kinds []Kind, opts Options) (*Side, error) {
	conn, err := client.NewConnection(opts.URL, client.ConnectionOptions{
		CAFile: opts.CAFile, TokenFile: opts.TokenFile, OnError: func(error) {},
	})
	if err != nil {
		return nil, err
	}
	if opts.Transport != nil {
		conn.HTTP = &http.Client{Transport: opts.Transport, CheckRedirect: conn.HTTP.CheckRedirect}
	}
	s := &Side{name: KinformName, requests: new(atomic.Int64), idle: conn.HTTP.CloseIdleConnections}
	if opts.Count {
		conn.HTTP = &http.Client{Transport: counting{conn.HTTP.Transport, s.requests}, CheckRedirect: conn.HTTP.CheckRedirect}
	}
	var all []kinformCache
	for _, namespace := range everywhere(opts.Namespaces) {
		for _, k := range kinds {
			c, err := k.kinform(k, conn, namespace)
			if err != nil {
				return nil, err
			}
			all, s.caches = append(all, c), append(s.caches, c)
		}
	}
	s.run = func(ctx context.Context) error {
		group, ctx := errgroup.WithContext(ctx)
		for _, c := range all {
			group.Go(func() error { return c.Run(ctx) })
		}
		return group.Wait()
	}
	return s, nil
}

func everywhere(namespaces []string) []string {
	if len(namespaces) == 0 {
		return []string{""}
	}
	return namespaces
}

// kinformInformer is an informer of T with default options.
type kinformInformer[T metav1.Object] struct {
	Complaints
	kind      Kind
	namespace string
	inf       *informer.Informer[Key, T]
}

func newKinformCache[T metav1.Object](k Kind, conn client.Connection, namespace string) (kinformCache, error) {
	source, err := client.New(conn, kind.OfResource[T](k.GVR), client.Options{Namespace: namespace})
	if err != nil {
		return nil, err
	}
	c := &kinformInformer[T]{kind: k, namespace: namespace}
	c.inf, err = informer.New(source, store.ObjectKey, informer.Options[T]{OnError: c.Note})
	return c, err
}

func (c *kinformInformer[T]) Kind() Kind        { return c.kind }
func (c *kinformInformer[T]) Namespace() string { return c.namespace }

func (c *kinformInformer[T]) Run(ctx context.Context) error { return c.inf.Run(ctx) }

func (c *kinformInformer[T]) falseAlarm() error { return FalseAlarm(c.inf.Stats()) }

func (c *kinformInformer[T]) decoding() time.Duration { return c.inf.Stats().Decoding }

func (c *kinformInformer[T]) Version(key Key) string {
	obj, ok := c.inf.Store().Get(key)
	if !ok {
		return ""
	}
	return obj.GetResourceVersion()
}

func (c *kinformInformer[T]) Versions() map[Key]string {
	all := map[Key]string{}
	for key, obj := range c.inf.Store().All() {
		all[key] = obj.GetResourceVersion()
	}
	return all
}

func (c *kinformInformer[T]) Synced() bool {
	select {
	case <-c.inf.Synced():
		return true
	default:
		return false
	}
}
