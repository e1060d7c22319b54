package strategies

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	apistorage "k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/tools/cache"
	api "k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/registry/core/service/ipallocator"
	"k8s.io/kubernetes/pkg/registry/core/service/portallocator"
	"k8s.io/kubernetes/pkg/registry/core/service/storage"

	"github.com/kinform/kinform/fake"
)

// services gives Services their addresses and ports, by the API server's code.
type services struct {
	code *genericregistry.Store
}

// The ranges are the defaults of an API server.
var (
	addresses = net.IPNet{IP: net.IPv4(10, 0, 0, 0).To4(), Mask: net.CIDRMask(24, 32)}
	ports     = utilnet.PortRange{Base: 30000, Size: 2768}
)

func newServices(server *fake.Server) (*services, error) {
	used := func() []*corev1.Service {
		all, _ := fake.List[*corev1.Service](server, fake.Selection{ReadOnly: true}) // none, if they are not registered
		return all
	}
	ips := map[api.IPFamily]ipallocator.Interface{api.IPv4Protocol: &ipAllocator{used: used}}
	opts := generic.RESTOptions{StorageConfig: &storagebackend.ConfigForResource{}, ResourcePrefix: "services", Decorator: noStorage}
	r, _, _, err := storage.NewREST(opts, api.IPv4Protocol, ips, &portAllocator{used: used}, nil, nil, nil)
	if err != nil {
		return nil, err
	}
	return &services{r.Store}, nil
}

func noStorage(*storagebackend.ConfigForResource, string, func(runtime.Object) (string, error), func() runtime.Object, func() runtime.Object,
	apistorage.AttrFunc, apistorage.IndexerFuncs, *cache.Indexers) (apistorage.Interface, factory.DestroyFunc, error) {
	return nil, func() {}, nil
}

// begin allocates the addresses and ports of a Service before its strategy looks at it.
func (s *services) begin(ctx context.Context, a *fake.Admission, now, was runtime.Object) error {
	if _, ok := now.(*api.Service); !ok || a.Subresource != "" {
		return nil
	}
	var dryRun []string
	if a.DryRun {
		dryRun = []string{metav1.DryRunAll}
	}
	var finish genericregistry.FinishFunc
	var err error
	if was == nil {
		finish, err = s.code.BeginCreate(ctx, now, &metav1.CreateOptions{DryRun: dryRun})
	} else {
		finish, err = s.code.BeginUpdate(ctx, now, was, &metav1.UpdateOptions{DryRun: dryRun})
	}
	if status := apierrors.APIStatus(nil); err != nil && !errors.As(err, &status) {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: err.Error()}}
	}
	if err != nil {
		return err
	}
	finish(ctx, true)
	return nil
}

// turn hands out the numbers from first to last, each once before any comes again, so that two
// requests at one time get two.
type turn struct {
	mu   sync.Mutex
	next int
}

func (t *turn) take(first, last int, used func(int) bool) (int, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for range last - first + 1 {
		n := max(t.next, first)
		if t.next = n + 1; t.next > last {
			t.next = first
		}
		if !used(n) {
			return n, true
		}
	}
	return 0, false
}

// ipAllocator allocates the addresses that no Service of the server has.
type ipAllocator struct {
	used func() []*corev1.Service
	turn turn
}

func (r *ipAllocator) Allocate(ip net.IP) error {
	switch {
	case !addresses.Contains(ip):
		return &ipallocator.ErrNotInRange{IP: ip, ValidRange: addresses.String()}
	case r.Has(ip):
		return ipallocator.ErrAllocated
	}
	return nil
}

func (r *ipAllocator) AllocateNext() (net.IP, error) {
	all := r.used()
	n, ok := r.turn.take(1, 254, func(n int) bool { return hasAddress(all, address(n)) })
	if !ok {
		return nil, ipallocator.ErrFull
	}
	return address(n), nil
}

func address(n int) net.IP {
	ip := slices.Clone(addresses.IP)
	ip[3] = byte(n)
	return ip
}

func hasAddress(all []*corev1.Service, ip net.IP) bool {
	return slices.ContainsFunc(all, func(s *corev1.Service) bool { return slices.Contains(s.Spec.ClusterIPs, ip.String()) })
}

func (r *ipAllocator) Has(ip net.IP) bool            { return hasAddress(r.used(), ip) }
func (r *ipAllocator) Release(net.IP) error          { return nil } // its Service changes or goes
func (r *ipAllocator) ForEach(func(net.IP))          {}
func (r *ipAllocator) CIDR() net.IPNet               { return addresses }
func (r *ipAllocator) IPFamily() api.IPFamily        { return api.IPv4Protocol }
func (r *ipAllocator) Destroy()                      {}
func (r *ipAllocator) EnableMetrics()                {}
func (r *ipAllocator) DryRun() ipallocator.Interface { return r }

// portAllocator allocates the node ports that no Service of the server has.
type portAllocator struct {
	used func() []*corev1.Service
	turn turn
}

func (r *portAllocator) Allocate(port int) error {
	switch {
	case !ports.Contains(port):
		return &portallocator.ErrNotInRange{ValidPorts: ports.String()}
	case r.Has(port):
		return portallocator.ErrAllocated
	}
	return nil
}

func (r *portAllocator) AllocateNext() (int, error) {
	all := r.used()
	n, ok := r.turn.take(ports.Base, ports.Base+ports.Size-1, func(n int) bool { return hasPort(all, n) })
	if !ok {
		return 0, portallocator.ErrFull
	}
	return n, nil
}

func hasPort(all []*corev1.Service, port int) bool {
	return slices.ContainsFunc(all, func(s *corev1.Service) bool {
		return int(s.Spec.HealthCheckNodePort) == port ||
			slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return int(p.NodePort) == port })
	})
}

func (r *portAllocator) Has(port int) bool { return hasPort(r.used(), port) }
func (r *portAllocator) Release(int) error { return nil } // as of an address
func (r *portAllocator) ForEach(func(int)) {}
func (r *portAllocator) Destroy()          {}
func (r *portAllocator) EnableMetrics()    {}
