package controllerruntime

import (
	"errors"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	kinform "github.com/kinform/kinform/client"
	"github.com/kinform/kinform/with/clientgo"
)

// CacheOptions are the choices for a cache that controller-runtime's options have no fields for.
// The zero value works.
type CacheOptions struct {
	// DropManagedFields leaves out metadata.managedFields already while the objects are decoded. It
	// costs less than cache.TransformStripManagedFields.
	DropManagedFields bool

	// Packed keeps the objects as bytes: see store.Options.Packed. A read decodes the object instead of copying
	// it, which takes up to 1.5 times as long. UnsafeDisableDeepCopy changes nothing then. A pod takes a tenth of the
	// memory that controller-runtime's cache takes for it.
	Packed bool
}

// NewCache is for NewCache of manager.Options and cluster.Options. It is New of the zero
// CacheOptions.
//
//	m, err := ctrl.NewManager(config, ctrl.Options{NewCache: controllerruntime.NewCache})
func NewCache(rc *rest.Config, opts cache.Options) (cache.Cache, error) {
	return CacheOptions{}.New(rc, opts)
}

var errNewInformer = errors.New("controllerruntime: cache.Options.NewInformer is set, but NewCache makes the informers itself: leave out one of the two")

// New returns a cache on Kinform's informers, which does not run yet. All fields of opts have the
// meaning that controller-runtime gives them. The package documentation says what differs from its
// own cache. NewInformer is the exception: the cache has no informers but Kinform's, so New returns
// an error if opts.NewInformer is set.
//
// Of opts.HTTPClient only the transport is used: its Timeout would end each watch. rc is not
// changed.
//
// Errors: one for opts.NewInformer; the errors of clientgo.Connection and of the REST mapper; and
// errors for objects in opts.ByObject that have no kind in the scheme, or have namespaces although
// they are cluster-scoped.
func (o CacheOptions) New(rc *rest.Config, opts cache.Options) (cache.Cache, error) {
	if opts.NewInformer != nil {
		return nil, errNewInformer
	}
	conn, err := connect(rc, opts.HTTPClient)
	if err != nil {
		return nil, err
	}
	if opts.Scheme == nil {
		opts.Scheme = scheme.Scheme
	}
	if opts.Mapper == nil {
		if opts.Mapper, err = newMapper(rc, opts.HTTPClient); err != nil {
			return nil, fmt.Errorf("controllerruntime: REST mapper: %w", err)
		}
	}
	byKind, others, err := settingsOf(opts)
	if err != nil {
		return nil, err
	}
	return &objectCache{
		scheme: opts.Scheme, mapper: opts.Mapper, conn: conn, options: o, onWatchError: opts.DefaultWatchErrorHandler,
		knownOnly: opts.ReaderFailOnMissingInformer, byKind: byKind, others: others,
		collections: map[identity]*collection{}, started: make(chan struct{}),
	}, nil
}

// connect returns the connection of rc, over the transport of h unless it is nil.
func connect(rc *rest.Config, h *http.Client) (kinform.Connection, error) {
	conn, err := clientgo.Connection(rc)
	if err != nil || h == nil {
		return conn, err
	}
	return clientgo.Connection(&rest.Config{
		Host: conn.URL, Transport: h.Transport, UserAgent: rc.UserAgent, QPS: rc.QPS, Burst: rc.Burst, RateLimiter: rc.RateLimiter,
	})
}

func newMapper(rc *rest.Config, h *http.Client) (meta.RESTMapper, error) {
	if h == nil {
		var err error
		if h, err = rest.HTTPClientFor(rc); err != nil {
			return nil, err
		}
	}
	return apiutil.NewDynamicRESTMapper(rc, h)
}
