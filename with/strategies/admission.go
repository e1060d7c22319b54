package strategies

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/core"
	"k8s.io/client-go/informers/internalinterfaces"
	"k8s.io/client-go/informers/networking"
	"k8s.io/client-go/informers/node"
	"k8s.io/client-go/informers/scheduling"
	"k8s.io/client-go/informers/storage"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	nodev1client "k8s.io/client-go/kubernetes/typed/node/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/plugin/pkg/admission/certificates/subjectrestriction"
	"k8s.io/kubernetes/plugin/pkg/admission/defaulttolerationseconds"
	"k8s.io/kubernetes/plugin/pkg/admission/limitranger"
	"k8s.io/kubernetes/plugin/pkg/admission/network/defaultingressclass"
	"k8s.io/kubernetes/plugin/pkg/admission/nodedeclaredfeatures"
	"k8s.io/kubernetes/plugin/pkg/admission/nodetaint"
	"k8s.io/kubernetes/plugin/pkg/admission/podresize"
	"k8s.io/kubernetes/plugin/pkg/admission/podtopologylabels"
	"k8s.io/kubernetes/plugin/pkg/admission/priority"
	"k8s.io/kubernetes/plugin/pkg/admission/runtimeclass"
	"k8s.io/kubernetes/plugin/pkg/admission/security/podsecurity"
	"k8s.io/kubernetes/plugin/pkg/admission/storage/persistentvolume/resize"
	"k8s.io/kubernetes/plugin/pkg/admission/storage/storageclass/setdefault"
	"k8s.io/kubernetes/plugin/pkg/admission/storage/storageobjectinuseprotection"

	"github.com/kinform/kinform/fake"
)

// newPlugins returns the admission that an API server has by default, in its order, without the
// plugins that the fake implements itself (NamespaceLifecycle, webhooks, policies), ResourceQuota
// (see quotas), ServiceAccount, which needs a controller and which envtest turns off, and the
// others that the comment of the package names.
func newPlugins(server *fake.Server) (admission.Interface, error) {
	init := initializer.New(client{server: server}, nil, factoryOf{server: server}, nil, utilfeature.DefaultFeatureGate, compatibility.DefaultBuildEffectiveVersion(), nil, nil)
	known := admission.NewPlugins()
	var all []admission.Interface
	for _, p := range []struct {
		register func(*admission.Plugins)
		name     string
	}{
		{limitranger.Register, limitranger.PluginName},
		{nodetaint.Register, nodetaint.PluginName},
		{podsecurity.Register, podsecurity.PluginName},
		{priority.Register, priority.PluginName},
		{defaulttolerationseconds.Register, defaulttolerationseconds.PluginName},
		{setdefault.Register, setdefault.PluginName},
		{storageobjectinuseprotection.Register, storageobjectinuseprotection.PluginName},
		{resize.Register, resize.PluginName},
		{runtimeclass.Register, runtimeclass.PluginName},
		{subjectrestriction.Register, subjectrestriction.PluginName},
		{defaultingressclass.Register, defaultingressclass.PluginName},
		{podtopologylabels.Register, podtopologylabels.PluginName},
		{nodedeclaredfeatures.Register, nodedeclaredfeatures.PluginName},
		{podresize.Register, podresize.PluginName},
	} {
		p.register(known)
		plugin, err := known.InitPlugin(p.name, nil, init)
		if err != nil {
			return nil, err
		}
		all = append(all, plugin)
	}
	return admission.NewChainHandler(all...), nil // NewFromPlugins would write to the log for each server
}

// attributes describe a write for the plugins.
func attributes(ctx context.Context, a *fake.Admission, now, was runtime.Object) admission.Attributes {
	return admission.NewAttributesRecord(now, was, a.Kind, a.Key.Namespace, a.Key.Name, a.Resource, a.Subresource,
		admission.Operation(strings.ToUpper(string(a.Verb))), nil, a.DryRun, userOf(ctx))
}

// complete lets the plugins complete the object of a write.
func (s *set) complete(ctx context.Context, about admission.Attributes) error {
	if !s.plugins.Handles(about.GetOperation()) {
		return nil
	}
	return s.plugins.(admission.MutationInterface).Admit(ctx, about, nil)
}

// check asks the plugins about a write that is valid.
func (s *set) check(ctx context.Context, about admission.Attributes) error {
	if !s.plugins.Handles(about.GetOperation()) {
		return nil
	}
	return s.plugins.(admission.ValidationInterface).Validate(ctx, about, nil)
}

func userOf(ctx context.Context) user.Info {
	if u, ok := request.UserFrom(ctx); ok {
		return u
	}
	return &user.DefaultInfo{Name: "system:admin", Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated}}
}

// factoryOf has informers of the few kinds that plugins look up. They read the server.
type factoryOf struct {
	informers.SharedInformerFactory // nil: plugins call nothing else
	server                          *fake.Server
}

func (f factoryOf) Core() core.Interface             { return core.New(f, "", nil) }
func (f factoryOf) Networking() networking.Interface { return networking.New(f, "", nil) }
func (f factoryOf) Node() node.Interface             { return node.New(f, "", nil) }
func (f factoryOf) Scheduling() scheduling.Interface { return scheduling.New(f, "", nil) }
func (f factoryOf) Storage() storage.Interface       { return storage.New(f, "", nil) }

// InformerFor implements [internalinterfaces.SharedInformerFactory].
func (f factoryOf) InformerFor(obj runtime.Object, _ internalinterfaces.NewInformerFunc) cache.SharedIndexInformer {
	switch obj.(type) {
	case *corev1.LimitRange:
		return informer{objects: objects[*corev1.LimitRange]{server: f.server}}
	case *corev1.Namespace:
		return informer{objects: objects[*corev1.Namespace]{server: f.server}}
	case *corev1.Node:
		return informer{objects: objects[*corev1.Node]{server: f.server}}
	case *corev1.Pod:
		return informer{objects: objects[*corev1.Pod]{server: f.server}}
	case *networkingv1.IngressClass:
		return informer{objects: objects[*networkingv1.IngressClass]{server: f.server}}
	case *nodev1.RuntimeClass:
		return informer{objects: objects[*nodev1.RuntimeClass]{server: f.server}}
	case *schedulingv1.PriorityClass:
		return informer{objects: objects[*schedulingv1.PriorityClass]{server: f.server}}
	}
	return informer{objects: objects[*storagev1.StorageClass]{server: f.server}}
}

// informer is one that has always synced.
type informer struct {
	cache.SharedIndexInformer // nil, as in factoryOf
	objects                   cache.Indexer
}

func (i informer) HasSynced() bool           { return true }
func (i informer) GetIndexer() cache.Indexer { return i.objects }

// objects are a server's objects, as a lister of client-go reads them.
type objects[T metav1.Object] struct {
	cache.Indexer // nil, as in factoryOf
	server        *fake.Server
}

func (o objects[T]) list(namespace string) (out []any) {
	all, _ := fake.List[T](o.server, fake.Selection{Namespace: namespace, ReadOnly: true}) // none, if they are not registered
	for _, x := range all {
		out = append(out, x)
	}
	return out
}

func (o objects[T]) List() []any { return o.list("") }

func (o objects[T]) Index(_ string, obj any) ([]any, error) {
	return o.list(obj.(metav1.Object).GetNamespace()), nil
}

func (o objects[T]) ByIndex(_, namespace string) ([]any, error) { return o.list(namespace), nil }

func (o objects[T]) GetByKey(key string) (any, bool, error) {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return nil, false, err
	}
	obj, err := fake.Get[T](o.server, types.NamespacedName{Namespace: namespace, Name: name})
	if apierrors.IsNotFound(err) {
		return nil, false, nil
	}
	return obj, err == nil, err
}

// client has the requests that plugins send if an informer does not know an object. They are
// answered from the server, and are no requests to it.
type client struct {
	kubernetes.Interface // nil, as in factoryOf
	server               *fake.Server
}

func (c client) CoreV1() corev1client.CoreV1Interface { return coreClient{server: c.server} }
func (c client) NodeV1() nodev1client.NodeV1Interface { return nodeClient{server: c.server} }

type coreClient struct {
	corev1client.CoreV1Interface
	server *fake.Server
}

func (c coreClient) LimitRanges(namespace string) corev1client.LimitRangeInterface {
	return limitRanges{server: c.server, namespace: namespace}
}

type limitRanges struct {
	corev1client.LimitRangeInterface
	server    *fake.Server
	namespace string
}

func (l limitRanges) List(context.Context, metav1.ListOptions) (*corev1.LimitRangeList, error) {
	all, err := fake.List[*corev1.LimitRange](l.server, fake.Selection{Namespace: l.namespace})
	out := &corev1.LimitRangeList{}
	for _, x := range all {
		out.Items = append(out.Items, *x)
	}
	return out, err
}

func (c coreClient) Namespaces() corev1client.NamespaceInterface {
	return namespaces{server: c.server}
}

type namespaces struct {
	corev1client.NamespaceInterface
	server *fake.Server
}

// Get returns a namespace without labels if the namespace does not exist: only the server decides
// whether it must exist.
func (n namespaces) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.Namespace, error) {
	ns, err := fake.Get[*corev1.Namespace](n.server, types.NamespacedName{Name: name})
	if err != nil {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, nil
	}
	return ns, nil
}

type nodeClient struct {
	nodev1client.NodeV1Interface
	server *fake.Server
}

func (c nodeClient) RuntimeClasses() nodev1client.RuntimeClassInterface {
	return runtimeClasses{server: c.server}
}

type runtimeClasses struct {
	nodev1client.RuntimeClassInterface
	server *fake.Server
}

func (r runtimeClasses) Get(_ context.Context, name string, _ metav1.GetOptions) (*nodev1.RuntimeClass, error) {
	return fake.Get[*nodev1.RuntimeClass](r.server, types.NamespacedName{Name: name})
}
