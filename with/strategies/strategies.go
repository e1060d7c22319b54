package strategies

import (
	"bytes"
	"context"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"reflect"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/capabilities"
	"k8s.io/kubernetes/pkg/printers"
	"k8s.io/kubernetes/pkg/printers/internalversion"

	"github.com/kinform/kinform/fake"
)

// New returns a function for [fake.Options].Strategy of one server. It starts no goroutine.
// Containers may be privileged, as with the flag --allow-privileged; that is a setting of the whole
// process in k8s.io/kubernetes.
func New() func(of schema.GroupVersionResource, kind schema.GroupVersionKind) *fake.Strategy {
	capabilities.Setup(true, 0)
	s := &set{tables: printers.NewTableGenerator().With(internalversion.AddHandlers)}
	return func(of schema.GroupVersionResource, kind schema.GroupVersionKind) *fake.Strategy {
		own, ok := all[of.GroupResource()]
		if !ok {
			return nil
		}
		return &fake.Strategy{
			Default:  decoded,
			Prepare:  func(ctx context.Context, a *fake.Admission) (uint64, error) { return s.prepare(ctx, own, a) },
			Admitted: s.charge,
			Zero:     func() (metav1.Object, error) { return zero(kind) },
			Printer:  s.printer(kind),
		}
	}
}

// set is the state that the strategies of one server share.
type set struct {
	tables *printers.HumanReadableGenerator

	once     sync.Once // guards what follows
	err      error
	plugins  admission.Interface
	services *services
	quotas   *quotas
}

// begin makes what needs the server.
func (s *set) begin(server *fake.Server) error {
	s.once.Do(func() {
		if s.plugins, s.err = newPlugins(server); s.err == nil {
			s.services, s.err = newServices(server)
		}
		if s.err == nil {
			s.quotas, s.err = newQuotas(server)
		}
	})
	return s.err
}

// strategies are a resource's strategies, by subresource. The strategy under the empty name is for
// the resource itself, and for subresources that have none. The first can also create.
type strategies map[string]rest.RESTUpdateStrategy

func (all strategies) of(subresource string) rest.RESTUpdateStrategy {
	if own, ok := all[subresource]; ok {
		return own
	}
	return all[""]
}

// prepare completes and checks a.Object by the API server's code.
func (s *set) prepare(ctx context.Context, own strategies, a *fake.Admission) (stored uint64, err error) {
	if err := s.begin(a.Server); err != nil {
		return 0, apierrors.NewInternalError(err)
	}
	ctx = describe(ctx, a)
	now, was, err := states(a)
	if err != nil {
		return 0, err
	}
	about := attributes(ctx, a, now, was)
	if err := s.complete(ctx, about); err != nil {
		return 0, err
	}
	if err := s.services.begin(ctx, a, now, was); err != nil {
		return 0, err
	}
	if was == nil {
		err = rest.BeforeCreate(own[""].(rest.RESTCreateStrategy), ctx, now)
	} else {
		err = rest.BeforeUpdate(own.of(a.Subresource), ctx, now, was)
	}
	if err == nil {
		err = s.check(ctx, about)
	}
	if err != nil {
		return 0, err
	}
	return external(now, a.Object.(runtime.Object))
}

// states returns the new and the old state of a write in the version that strategies work on.
func states(a *fake.Admission) (now, was runtime.Object, err error) {
	if now, err = internal(a.Object); err != nil {
		return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", a.Kind.Kind, a.Kind.Version, a.Kind.Kind, err))
	}
	if a.Stored != nil {
		was, err = internal(a.Stored.(runtime.Object).DeepCopyObject()) // a conversion shares parts
	}
	return now, was, err
}

// charge asks the quotas about a write that all others have allowed.
func (s *set) charge(ctx context.Context, a *fake.Admission) error {
	if quotas, err := s.quotas.of(a.Key.Namespace); err != nil || len(quotas) == 0 {
		return err
	}
	now, was, err := states(a)
	if err != nil {
		return err
	}
	return s.quotas.charge(attributes(ctx, a, now, was))
}

// describe adds to ctx the values that the API server's handlers add, unless they are there
// already. Warnings go to a.
func describe(ctx context.Context, a *fake.Admission) context.Context {
	if _, ok := request.RequestInfoFrom(ctx); !ok {
		ctx = request.WithRequestInfo(ctx, &request.RequestInfo{
			IsResourceRequest: true, Verb: string(a.Verb), Namespace: a.Key.Namespace, Name: a.Key.Name, Subresource: a.Subresource,
			APIGroup: a.Resource.Group, APIVersion: a.Resource.Version, Resource: a.Resource.Resource,
		})
	}
	return warning.WithWarningRecorder(request.WithNamespace(ctx, a.Key.Namespace), recorder{a})
}

// recorder takes the warnings of the API server's code.
type recorder struct{ about *fake.Admission }

// AddWarning implements [warning.Recorder].
func (r recorder) AddWarning(_, text string) { r.about.Warn(text) }

// internal converts an object to the version that strategies work on.
func internal(obj any) (runtime.Object, error) {
	o, ok := obj.(runtime.Object)
	if !ok {
		return nil, apierrors.NewInternalError(fmt.Errorf("%T is no runtime.Object", obj))
	}
	group := o.GetObjectKind().GroupVersionKind().Group
	return legacyscheme.Scheme.ConvertToVersion(o, schema.GroupVersion{Group: group, Version: runtime.APIVersionInternal})
}

// zero returns what the internal form of no object is in the version of kind.
func zero(kind schema.GroupVersionKind) (metav1.Object, error) {
	none, err := legacyscheme.Scheme.New(schema.GroupVersionKind{Group: kind.Group, Version: runtime.APIVersionInternal, Kind: kind.Kind})
	if err != nil {
		return nil, err
	}
	if none, err = legacyscheme.Scheme.ConvertToVersion(none, kind.GroupVersion()); err != nil {
		return nil, err
	}
	return none.(metav1.Object), nil
}

// external gives to, the object of the write, the state that the API server would read from its
// storage after it has stored from. sum is the sum of the stored bytes, or any number if the API
// server would store other bytes for what it reads.
func external(from, to runtime.Object) (sum uint64, err error) {
	kind := to.GetObjectKind().GroupVersionKind()
	stored := storedIn(kind)
	out, err := legacyscheme.Scheme.ConvertToVersion(from, stored)
	if err != nil {
		return 0, err
	}
	read, err := legacyscheme.Scheme.New(stored.WithKind(kind.Kind))
	if err != nil {
		return 0, err
	}
	bytesBefore, err := store(out, read)
	if err != nil {
		return 0, err
	}
	setDefaults(read.(metav1.Object))
	read.GetObjectKind().SetGroupVersionKind(stored.WithKind(kind.Kind))
	if from, err = internal(read); err != nil {
		return 0, err
	}
	if out, err = legacyscheme.Scheme.ConvertToVersion(from, stored); err != nil {
		return 0, err
	}
	bytesAfter, err := store(out, nil)
	if err != nil {
		return 0, err
	}
	if stored != kind.GroupVersion() {
		if out, err = legacyscheme.Scheme.ConvertToVersion(from, kind.GroupVersion()); err != nil {
			return 0, err
		}
	}
	reflect.ValueOf(to).Elem().Set(reflect.ValueOf(out).Elem())
	to.GetObjectKind().SetGroupVersionKind(kind)
	if !bytes.Equal(bytesBefore, bytesAfter) {
		return max(1, rand.Uint64()), nil
	}
	return max(1, maphash.Bytes(seed, bytesBefore)), nil
}

// storedIn returns the version in which the API server stores objects of a kind.
func storedIn(kind schema.GroupVersionKind) schema.GroupVersion {
	for _, version := range legacyscheme.Scheme.PrioritizedVersionsForGroup(kind.Group) {
		if legacyscheme.Scheme.Recognizes(version.WithKind(kind.Kind)) {
			return version
		}
	}
	return kind.GroupVersion()
}

// seed makes the sums of a process.
var seed = maphash.MakeSeed()

// store copies from into to, which may be nil, by way of protobuf, the format of the API server's
// storage, which has no empty lists and maps. It returns the bytes, but for the managedFields, and for
// the resourceVersion and the selfLink, which the storage drops.
func store(from, to runtime.Object) ([]byte, error) {
	meta := from.(metav1.Object)
	owners, version, link := meta.GetManagedFields(), meta.GetResourceVersion(), meta.GetSelfLink()
	set := func(obj runtime.Object, owners []metav1.ManagedFieldsEntry, version, link string) {
		meta := obj.(metav1.Object)
		meta.SetManagedFields(owners)
		meta.SetResourceVersion(version)
		meta.SetSelfLink(link)
	}
	set(from, nil, "", "")
	b, err := from.(interface{ Marshal() ([]byte, error) }).Marshal()
	set(from, owners, version, link)
	if err != nil || to == nil {
		return b, err
	}
	if err := to.(interface{ Unmarshal([]byte) error }).Unmarshal(b); err != nil {
		return nil, err
	}
	set(to, owners, version, link)
	return b, nil
}

func setDefaults(obj metav1.Object) {
	if s, ok := obj.(*corev1.Secret); ok {
		mergeStringData(s)
	}
	if o, ok := obj.(runtime.Object); ok {
		legacyscheme.Scheme.Default(o)
	}
}

// decoded gives an object its defaults and the values that it would have in an API server, which
// turns each object that it reads into another form and back: a member that has a newer twin gets
// the value of the twin. What has no such form is refused later.
func decoded(obj metav1.Object) {
	setDefaults(obj)
	o, ok := obj.(runtime.Object)
	if !ok {
		return
	}
	kind := o.GetObjectKind().GroupVersionKind()
	own, err := internal(o)
	if err != nil {
		return
	}
	out, err := legacyscheme.Scheme.ConvertToVersion(own, kind.GroupVersion())
	if err != nil || reflect.TypeOf(out) != reflect.TypeOf(o) {
		return
	}
	reflect.ValueOf(o).Elem().Set(reflect.ValueOf(out).Elem())
	o.GetObjectKind().SetGroupVersionKind(kind)
}

// mergeStringData does what the conversion of a Secret does.
func mergeStringData(s *corev1.Secret) {
	if len(s.StringData) > 0 && s.Data == nil {
		s.Data = map[string][]byte{}
	}
	for k, v := range s.StringData {
		s.Data[k] = []byte(v)
	}
	s.StringData = nil
}
