package others

import (
	_ "embed"
	"slices"
	"strings"
)

var (
	//go:embed hooks/usedspec.go.txt
	usedSpecHook string
	//go:embed hooks/newcache.go.txt
	newCacheHook string
	//go:embed hooks/newinformer.go.txt
	newInformerHook string
	//go:embed hooks/priorityqueue.go.txt
	priorityqueueHook string
)

const (
	runtimeModule  = "sigs.k8s.io/controller-runtime"
	runtimeCache   = runtimeModule + "/pkg/cache"
	priorityqueues = runtimeModule + "/pkg/controller/priorityqueue"
)

const withKind = "It expects handlers to get typed objects without kind and apiVersion. NewCache sets both."

const clock = "sets the queue's clock"

// ControllerRuntime are the suites of controller-runtime.
func ControllerRuntime() []Suite {
	newCache := swap("New", " && opts.NewInformer == nil")
	differs := map[string]string{}
	for _, cache := range []string{"Informer Cache", "Informer Cache without global DeepCopy", "Multi-Namespace Informer Cache"} {
		for _, test := range []string{"get informer for the object", "get an informer by group/version/kind"} {
			differs[cache+" Cache test as an Informer with structured objects should be able to "+test] = withKind
		}
	}
	suites := []Suite{
		{
			Module: runtimeModule, Package: runtimeCache, With: "NewCache", Specs: "TestSource", Servers: true,
			Edits:   []Edit{{"cache.go", newCache}},
			Differs: differs,
			Added:   map[string]string{runtimeCache + hookFile: newCacheHook + usedHook + usedSpecHook},
		},
		{
			Module: runtimeModule, Package: runtimeCache, With: "NewInformer", Specs: "TestSource", Servers: true,
			Edits: []Edit{{"cache.go", newCache}},
			Added: map[string]string{runtimeCache + hookFile: newInformerHook + usedHook + usedSpecHook},
		},
		{
			Module: runtimeModule, Package: priorityqueues, Specs: "TestControllerWorkqueue",
			Edits: []Edit{
				{"priorityqueue.go", delegate("priorityqueue", "kinform", "PriorityQueue[T]")},
				{"priorityqueue.go", begin("New", "if KinformNew != nil { opts := &Opts[T]{}; for _, f := range o { f(opts) };"+
					" if q, ok := KinformNew(opts, name).(PriorityQueue[T]); ok {"+
					" return &priorityqueue[T]{kinform: q, ready: btree.New(32, lessReady[T]), waiting: btree.New(32, lessWaiting[T])} } };")},
				{"priorityqueue.go", end("\nvar KinformNew func(opts any, name string) any\n")},
			},
			Private: map[string]string{
				"TestHighPriorityItemsAreReturnedBeforeLowPriorityItemMultipleTimes":                        clock,
				"TestItemIsOnlyReturnedAfterAfterHasPassed":                                                 clock,
				"TestHighPriorityItemThatBecameReadyIsReturnedBeforeLowPriorityItem":                        clock,
				"TestMultipleItemsWithAfterAreReturnedInCorrectOrder":                                       clock,
				"TestItemsAreInludedInLenAndMetricsOnceTheyAreReady":                                        clock,
				"TestMetricsAreUpdatedForItemWhoseRequeueAfterExpiredThatGetsAddedAgainWithoutRequeueAfter": clock,
				"TestWhenAddingMultipleItemsWithRatelimitTrueTheyDontAffectEachOther":                       clock,
			},
			Differs: map[string]string{
				"Controllerworkqueue returns an item as soon as its unlocked": "It expects a key that is added while it runs to keep the place of that add. In Kinform the key goes to the end when it is given back.",
				"TestFuzzPriorityQueue": "It expects an add that replaces a delay to get the higher of both priorities, and a delay of a queued key to be dropped.",
			},
			Added: map[string]string{priorityqueues + hookFile: priorityqueueHook + usedHook + usedSpecHook},
		},
	}
	for pkg, specs := range map[string]string{"builder": "TestBuilder", "controller": "TestSource", "manager": "TestSource"} {
		hook := strings.Replace(newCacheHook, "package cache_test", "package "+pkg+"_test", 1)
		suites = append(suites, Suite{
			Module: runtimeModule, Package: runtimeModule + "/pkg/" + pkg, With: "NewCache", Specs: specs, Servers: true,
			Edits: []Edit{{"../cache/cache.go", newCache}},
			Added: map[string]string{runtimeModule + "/pkg/" + pkg + hookFile: hook + usedHook + usedSpecHook},
		})
	}
	slices.SortStableFunc(suites, func(a, b Suite) int { return strings.Compare(a.Package, b.Package) })
	return suites
}
