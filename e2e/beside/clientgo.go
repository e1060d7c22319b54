//go:build e2e

package beside

import (
	"context"
	"net/http"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// ClientGo returns the side of client-go: informers of kinds from shared factories, one factory per
// namespace, and a rest.Config with nothing but address and credentials.
func ClientGo(kinds []Kind, opts Options) (*Side, error) {
	s := &Side{name: ClientGoName, requests: new(atomic.Int64)}
	config := &rest.Config{Host: opts.URL, BearerTokenFile: opts.TokenFile, TLSClientConfig: rest.TLSClientConfig{CAFile: opts.CAFile}}
	if opts.Transport != nil {
		config.Wrap(func(http.RoundTripper) http.RoundTripper { return opts.Transport })
	}
	if opts.Count {
		config.Wrap(func(through http.RoundTripper) http.RoundTripper { return counting{through, s.requests} })
	}
	hc, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	s.idle = hc.CloseIdleConnections
	var factories []starter
	for _, namespace := range everywhere(opts.Namespaces) {
		f, err := newFactories(config, hc, namespace)
		if err != nil {
			return nil, err
		}
		factories = append(factories, f.typed, f.dynamic, f.metadata)
		for _, k := range kinds {
			if err := s.add(k, namespace, f); err != nil {
				return nil, err
			}
		}
	}
	s.run = func(ctx context.Context) error { return runFactories(ctx, factories) }
	return s, nil
}

// factoriesOf holds the factories of one namespace, one for each Way.
type factoriesOf struct {
	typed    informers.SharedInformerFactory
	dynamic  dynamicinformer.DynamicSharedInformerFactory
	metadata metadatainformer.SharedInformerFactory
}

func newFactories(config *rest.Config, hc *http.Client, namespace string) (f factoriesOf, err error) {
	clients, err := kubernetes.NewForConfigAndClient(config, hc)
	if err != nil {
		return f, err
	}
	untyped, err := dynamic.NewForConfigAndClient(config, hc)
	if err != nil {
		return f, err
	}
	meta, err := metadata.NewForConfigAndClient(config, hc)
	if err != nil {
		return f, err
	}
	f.typed = informers.NewSharedInformerFactoryWithOptions(clients, 0, informers.WithNamespace(namespace))
	f.dynamic = dynamicinformer.NewFilteredDynamicSharedInformerFactory(untyped, 0, namespace, nil)
	f.metadata = metadatainformer.NewFilteredSharedInformerFactory(meta, 0, namespace, nil)
	return f, nil
}

// starter is the interface of both types of factory.
type starter interface {
	Start(stop <-chan struct{})
	Shutdown()
}

func runFactories(ctx context.Context, factories []starter) error {
	for _, f := range factories {
		f.Start(ctx.Done())
	}
	<-ctx.Done()
	for _, f := range factories {
		f.Shutdown()
	}
	return nil
}

func (s *Side) add(k Kind, namespace string, f factoriesOf) error {
	c := &clientGoInformer{kind: k, namespace: namespace}
	switch k.Way {
	case Dynamic:
		c.inf = f.dynamic.ForResource(k.GVR).Informer()
	case Metadata:
		c.inf = f.metadata.ForResource(k.GVR).Informer()
	default:
		generic, err := f.typed.ForResource(k.GVR)
		if err != nil {
			return err
		}
		c.inf = generic.Informer()
	}
	s.caches = append(s.caches, c)
	return c.inf.SetWatchErrorHandler(func(_ *cache.Reflector, err error) { c.Note(err) })
}

// clientGoInformer is a shared informer.
type clientGoInformer struct {
	Complaints
	kind      Kind
	namespace string
	inf       cache.SharedIndexInformer
}

func (c *clientGoInformer) Kind() Kind        { return c.kind }
func (c *clientGoInformer) Namespace() string { return c.namespace }
func (c *clientGoInformer) Synced() bool      { return c.inf.HasSynced() }

func (c *clientGoInformer) Version(key Key) string {
	name := cache.ObjectName{Namespace: key.Namespace, Name: key.Name}
	obj, ok, err := c.inf.GetStore().GetByKey(name.String())
	if err != nil || !ok {
		return ""
	}
	return accessor(obj).GetResourceVersion()
}

func (c *clientGoInformer) Versions() map[Key]string {
	all := map[Key]string{}
	for _, obj := range c.inf.GetStore().List() {
		m := accessor(obj)
		all[Key{Namespace: m.GetNamespace(), Name: m.GetName()}] = m.GetResourceVersion()
	}
	return all
}

// accessor returns the metadata of an object, empty if it has none.
func accessor(obj any) metav1.Object {
	m, err := meta.Accessor(obj)
	if err != nil {
		return &metav1.ObjectMeta{}
	}
	return m
}
