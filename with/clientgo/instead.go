package clientgo

import (
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/with/clientgo/internal/stock"
)

// InsteadOf returns an informer of Kinform in place of one that client-go or generated code has
// made. It has the same ListerWatcher, example object, resync period, indexers, transform function,
// shard selector and handler of watch errors:
//
//	pods := clientgo.InsteadOf(coreinformers.NewFilteredPodInformer(clients, "prod", resync, indexers, tweak))
//
// Do not use inf afterwards, and do not use it from another goroutine meanwhile.
//
// client-go has no method that returns these parts, so InsteadOf reads unexported fields. It
// returns inf itself, and logs why at Warn, if inf has started, has handlers or objects, or is not
// from client-go, or if the program has another version of client-go with other fields. An informer
// of this package is returned as it is.
func InsteadOf(inf cache.SharedIndexInformer) cache.SharedIndexInformer {
	if _, ours := stock.Untyped(inf).(*sharedInformer); ours {
		return inf
	}
	made, err := stock.Of(inf)
	if err != nil {
		slog.Warn("clientgo: an informer stays as it is", "error", err)
		return inf
	}
	s := newUntyped(made.ListerWatcher, made.Example, made.Options)
	s.transform, s.onError = made.Transform, made.OnError
	_ = s.SetShardSelector(made.Shard) // requests fail with the error
	return s
}

// Generated is the factory as generated informers see it. Each package internalinterfaces that
// k8s.io/code-generator 0.37 writes has such an interface, with its own type F.
type Generated[F any] interface {
	Start(stop <-chan struct{})
	InformerFor(obj runtime.Object, newFunc F) cache.SharedIndexInformer
	InformerName() *cache.InformerName
}

// Factory makes generated informers use Kinform. Give it to the New function of a generated group,
// instead of calling the method of the factory:
//
//	factory := externalversions.NewSharedInformerFactory(clients, resync)
//	foos := samplecontroller.New(clientgo.Factory(factory), metav1.NamespaceAll, nil).V1alpha1().Foos()
//
// The informers belong to of, which starts, awaits and ends them as before. Each is made as
// [InsteadOf] describes. If of has an informer of the type already, it keeps that one. C and F are
// inferred. For client-go's own factory, package with/clientgo/informers has one that needs no New
// function.
func Factory[C any, F ~func(C, time.Duration) cache.SharedIndexInformer](of Generated[F]) Generated[F] {
	return factory[C, F]{of}
}

type factory[C any, F ~func(C, time.Duration) cache.SharedIndexInformer] struct{ Generated[F] }

// InformerFor implements Generated.
func (f factory[C, F]) InformerFor(obj runtime.Object, newFunc F) cache.SharedIndexInformer {
	return f.Generated.InformerFor(obj, func(clients C, resync time.Duration) cache.SharedIndexInformer {
		return InsteadOf(newFunc(clients, resync))
	})
}
