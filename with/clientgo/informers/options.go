package informers

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/internalinterfaces"
	"k8s.io/client-go/tools/cache"
)

// SharedInformerOption is an option of [NewSharedInformerFactoryWithOptions]. It is not the type of
// the same name in client-go, whose options cannot be read.
type SharedInformerOption func(*options)

// options are the options of a factory.
type options struct {
	namespace string
	tweak     internalinterfaces.TweakListOptionsFunc
	shard     sharding.Selector
	name      *cache.InformerName
	stock     []informers.SharedInformerOption // for client-go: all of them but shard, and name, which two factories cannot share
}

// WithCustomResyncConfig sets the resync periods of the types of some objects.
func WithCustomResyncConfig(periods map[metav1.Object]time.Duration) SharedInformerOption {
	return func(o *options) { o.stock = append(o.stock, informers.WithCustomResyncConfig(periods)) }
}

// WithTweakListOptions lets tweak change the options of each list and watch, for example to set a
// selector.
func WithTweakListOptions(tweak internalinterfaces.TweakListOptionsFunc) SharedInformerOption {
	return func(o *options) {
		o.tweak, o.stock = tweak, append(o.stock, informers.WithTweakListOptions(tweak))
	}
}

// WithNamespace limits the factory to one namespace. "" means all.
func WithNamespace(namespace string) SharedInformerOption {
	return func(o *options) {
		o.namespace, o.stock = namespace, append(o.stock, informers.WithNamespace(namespace))
	}
}

// WithTransform sets a function that changes each object before it is stored.
func WithTransform(transform cache.TransformFunc) SharedInformerOption {
	return func(o *options) { o.stock = append(o.stock, informers.WithTransform(transform)) }
}

// WithShardSelector limits the informers to the objects that selector selects, as reflector.Shard
// describes; nil means all. Requests with a selector that reflector.Shard refuses fail. client-go has
// it from 0.38 on; an older client-go's informer that stays has all objects.
func WithShardSelector(selector sharding.Selector) SharedInformerOption {
	return func(o *options) { o.shard = selector }
}

// WithInformerName sets the name under which client-go's metrics would know the informers.
// Kinform's informers do not write them, but other code may ask the factory for its name.
func WithInformerName(name *cache.InformerName) SharedInformerOption {
	return func(o *options) { o.name = name }
}
