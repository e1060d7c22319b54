package others

import _ "embed"

var (
	//go:embed hooks/used.go.txt
	usedHook string
	//go:embed hooks/clientgo.go.txt
	clientgoHook string
	//go:embed hooks/cache.go.txt
	cacheHook string
	//go:embed hooks/dynamicinformer.go.txt
	dynamicHook string
	//go:embed hooks/metadatainformer.go.txt
	metadataHook string
	//go:embed hooks/workqueue.go.txt
	workqueueHook string
)

const (
	cachePackage = "k8s.io/client-go/tools/cache"
	hookFile     = "/kinform_test.go"
)

const resyncs = "It expects the first resync after exactly one period. Kinform's comes after 0.5 to 1.5 periods, so that handlers that began together do not resync together."

// ClientGo are the suites of client-go.
func ClientGo() []Suite {
	return []Suite{
		{
			Module:  "k8s.io/client-go",
			Package: cachePackage,
			Edits: []Edit{
				{"shared_informer.go", delegate("sharedIndexInformer", "kinform", "SharedIndexInformer", "HasStarted", "OnAdd", "OnUpdate", "OnDelete")},
				{"shared_informer.go", begin("NewSharedIndexInformerWithOptions", "if KinformShared != nil { return &sharedIndexInformer{kinform: KinformShared(lw, exampleObject, options)} };")},
				{"shared_informer.go", end(`
var KinformShared func(ListerWatcher, runtime.Object, SharedIndexInformerOptions) SharedIndexInformer
var KinformState func(SharedIndexInformer, ResourceEventHandlerRegistration) (has bool, handlers int, started bool)
`)},
				{"store.go", swap("NewStore", " && len(opts) == 0")},
				{"store.go", swap("NewIndexer", " && len(opts) == 0")},
				{"controller.go", swap("NewInformerWithOptions", "")},
				{"controller.go", swap("NewInformer", "")},
				{"controller.go", swap("NewTransformingInformer", "")},
				// These read the private parts of an informer for the tests.
				{"shared_informer_test.go", begin("eventHandlerCount", "_, n, _ := KinformState(i.(*sharedIndexInformer).kinform, nil); return n;")},
				{"shared_informer_test.go", begin("isStarted", "_, _, started := KinformState(i.(*sharedIndexInformer).kinform, nil); return started;")},
				{"shared_informer_test.go", begin("isRegistered", "has, _, _ := KinformState(i.(*sharedIndexInformer).kinform, h); return has;")},
			},
			Private: map[string]string{
				"TestResyncCheckPeriod":             "sets the informer's clock, and reads the periods of its listeners",
				"TestSharedInformerWatchDisruption": "sets the informer's clock",
				"TestMutationDetector":              "sets the informer's detector of mutations",
				"TestWithStoreMetricsDefaulting":    "reads the private type of a store",
				"TestRemoveWhileActive":             "reads the informer's private list of listeners during a removal",
			},
			Differs: map[string]string{
				"TestListenerResyncPeriods":             resyncs,
				"TestListenerResyncPeriodsDelayed":      resyncs,
				"TestStoreResourceVersion":              "It expects the store's version to move when an object is written. In Kinform only the server's lists and events move it.",
				"TestCacheTransactionShouldIndexErrors": "It asks the store for the method Transaction, which is not part of `cache.Indexer`. Only client-go's informers call it.",
			},
			Added: map[string]string{
				cachePackage + hookFile:                              cacheHook + usedHook,
				"github.com/kinform/kinform/with/clientgo/others.go": clientgoHook,
			},
		},
		{
			Module:  "k8s.io/client-go",
			Package: "k8s.io/client-go/dynamic/dynamicinformer",
			Edits:   []Edit{{"informer.go", swap("NewFilteredDynamicSharedInformerFactory", "")}},
			Added:   map[string]string{"k8s.io/client-go/dynamic/dynamicinformer" + hookFile: dynamicHook + usedHook},
		},
		{
			Module:  "k8s.io/client-go",
			Package: "k8s.io/client-go/metadata/metadatainformer",
			Edits:   []Edit{{"informer.go", swap("NewFilteredSharedInformerFactory", "")}},
			Added:   map[string]string{"k8s.io/client-go/metadata/metadatainformer" + hookFile: metadataHook + usedHook},
		},
		{
			Module:  "k8s.io/client-go",
			Package: "k8s.io/client-go/util/workqueue",
			Edits: []Edit{
				{"queue.go", delegate("Typed", "kinform", "TypedInterface[t]")},
				{"queue.go", begin("NewTypedWithConfig", "if KinformQueue != nil && config.Queue == nil && config.Clock == nil && config.MetricsProvider == nil {"+
					" if q, ok := KinformQueue(any(*new(T))).(TypedInterface[T]); ok { return &Typed[T]{kinform: q} } };")},
				{"queue.go", end("\nvar KinformQueue func(zero any) any\n")},
			},
			Private: map[string]string{
				"TestRateLimitingQueue": "reads the private parts of a queue",
			},
			Added: map[string]string{"k8s.io/client-go/util/workqueue" + hookFile: workqueueHook + usedHook},
		},
	}
}
