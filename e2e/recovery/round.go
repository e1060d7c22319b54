//go:build e2e

package recovery

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kinform/kinform/e2e/beside"
	"github.com/kinform/kinform/e2e/cluster"
	"github.com/kinform/kinform/e2e/oracle"
	"github.com/kinform/kinform/e2e/proxy"
)

// marker is the object of each kind that the test writes while no informer can see it.
var marker = beside.Key{Namespace: oracle.NamespaceName(0), Name: "marker"}

func name(i int) string { return fmt.Sprintf("object-%06d", i) }

// line is a library and its connection to the server.
type line struct {
	side  *beside.Side
	proxy *proxy.Proxy

	// When the event began.
	requests, connections int64
	decoding              time.Duration
}

// round is one occurrence of an event.
type round struct {
	opts    Options
	cluster *cluster.Cluster
	server  *oracle.Client // of the administrator, not through a proxy
	guest   *oracle.Client // of the informers' user
	kinds   []beside.Kind
	lines   []*line

	mu     sync.Mutex
	wanted map[schema.GroupVersionResource]string // version of the marker
	since  time.Time                              // the server is reachable and right
}

// right starts the clock.
func (r *round) right() { r.since = time.Now() }

// set sets a fault for all libraries.
func (r *round) set(f proxy.Fault) {
	for _, l := range r.lines {
		l.proxy.Set(f)
	}
}

func (r *round) refuse() {
	for _, l := range r.lines {
		l.proxy.Refuse()
	}
}

// listen ends refuse and starts the clock.
func (r *round) listen() error {
	r.right()
	for _, l := range r.lines {
		if err := l.proxy.Listen(); err != nil {
			return err
		}
	}
	return nil
}

// mark writes the markers of all kinds.
func (r *round) mark(ctx context.Context) error {
	return oracle.Each(ctx, len(r.kinds), 0, func(ctx context.Context, i int) error {
		return r.touch(ctx, r.kinds[i], marker.Name)
	})
}

// touch updates an object in the marker's namespace. If it is the marker, the caches have to reach
// its new version.
func (r *round) touch(ctx context.Context, k beside.Kind, name string) error {
	patch := map[string]any{"metadata": map[string]any{"annotations": map[string]string{"touched": rand.Text()}}}
	got, err := oracle.Patch[metav1.PartialObjectMetadata](ctx, r.server, k.Path(marker.Namespace, name), patch)
	if err != nil {
		return err
	}
	if name == marker.Name {
		r.want(k, got.ResourceVersion)
	}
	return nil
}

func (r *round) want(k beside.Kind, version string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wanted[k.GVR] = version
}

// newest returns the newest version of a marker.
func (r *round) newest() string {
	return slices.MaxFunc(slices.Collect(maps.Values(r.wanted)), compare)
}

func compare(a, b string) int {
	c, err := resourceversion.CompareResourceVersion(a, b)
	if err != nil {
		return -1 // no version is older than all
	}
	return c
}

// reached reports whether a cache has the marker. Only the caches of the marker's namespace can.
func (r *round) reached(c beside.Cache) bool {
	if c.Namespace() != "" && c.Namespace() != marker.Namespace {
		return true
	}
	return compare(c.Version(marker), r.wanted[c.Kind().GVR]) >= 0
}
