package ops

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/bench/internal/measure"
	"github.com/kinform/kinform/bench/internal/pods"
	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/store"
)

// lookups are the operations that read without a concurrent writer.
func lookups(w *World) []measure.Op {
	return []measure.Op{
		{Name: "key", Lines: line("key of an object", measure.Nanoseconds, 0, noAllocs()), Setup: w.keyFunc},
		{Name: "get", Lines: line("store: get by namespace and name", measure.Nanoseconds, 1.2, noAllocs()), Setup: w.get(false)},
		{Name: "get/informer", Lines: line("informer: get by namespace and name", measure.Nanoseconds, 1.2, noAllocs()), Setup: getThrough(w,
			func(inf *informer.Informer[key, *corev1.Pod]) func(key) bool {
				return func(k key) bool { _, ok := inf.Get(k); return ok }
			})},
		{Name: "get/lister", Lines: line("lister: get by namespace and name", measure.Nanoseconds, 1.2, noAllocs()), Setup: getThrough(w,
			func(inf *informer.Informer[key, *corev1.Pod]) func(key) bool {
				lister := informer.NewLister(inf)
				return func(k key) bool { _, err := lister.Get(k); return err == nil }
			})},
		{Name: "get/read", Lines: line("get, then read the object's version", measure.Nanoseconds, 0, noAllocs()), Setup: w.get(true)},
		{Name: "by-index/slice", Lines: line("100 objects by index, as slice", measure.Nanoseconds, 10), Setup: w.byIndexSlice},
		{Name: "by-index/iterated", Lines: line("100 objects by index, iterated", measure.Nanoseconds, 15, noAllocs()), Setup: w.byIndexIterated},
		{Name: "list", Lines: line("list all as typed slice (lister)", measure.Nanoseconds, 8), Setup: w.list},
		{Name: "walk", Lines: line("walk all, reading a field", measure.Nanoseconds, 1.2, noAllocs()), Setup: walk(w, chunks, field)},
		{Name: "walk/values", Lines: line("walk all by Values, reading a field", measure.Nanoseconds, 1.1, noAllocs()), Setup: walk(w, values, field)},
		{Name: "walk/all", Lines: line("walk all by All, reading keys and a field", measure.Nanoseconds, 1.1, noAllocs()), Setup: walk(w, pairs, keyAndField)},
		{Name: "walk/all/no-keys", Lines: line("walk all by All, reading a field; client-go makes no keys", measure.Nanoseconds, 1.1, noAllocs()), Setup: walk(w, pairs, field)},
		{Name: "select/index", Lines: line("lister, selector matching 100, label index", measure.Nanoseconds, 5000), Setup: w.selectBy(byApp)},
		{Name: "select/namespace", Lines: line("lister of one namespace, namespace index", measure.Nanoseconds, 20), Setup: w.selectNamespace},
		{Name: "select/scan", Lines: line("lister, selector matching 100, scan", measure.Nanoseconds, 1.5), Setup: w.selectBy()},
	}
}

// keyFunc is measured on a few pods that stay in the processor's cache: with more pods it
// would measure the memory.
func (w *World) keyFunc() (measure.Sides, error) {
	few := w.Fleet.Pods()[:min(512, w.Pods)]
	boxed := untyped(few)
	return measure.Sides{
		Kinform: measure.Side{Run: func(_ measure.Meter, n int) error {
			for i := range n {
				if k, err := store.ObjectKey(few[i%len(few)]); err != nil || k.Name == "" {
					return err
				}
			}
			return nil
		}},
		ClientGo: measure.Side{Run: func(_ measure.Meter, n int) error {
			for i := range n {
				if k, err := cache.DeletionHandlingMetaNamespaceKeyFunc(boxed[i%len(few)]); err != nil || k == "" {
					return err
				}
			}
			return nil
		}},
	}, nil
}

// get looks objects up. With read it also reads something of each, because callers usually do
// that, and the object may have to come from memory.
func (w *World) get(read bool) func() (measure.Sides, error) {
	use := func(p *corev1.Pod) error {
		if read && p.ResourceVersion == "" {
			return found(0, 1)
		}
		return nil
	}
	return func() (measure.Sides, error) {
		s, ix, err := both(w, 3)
		if err != nil {
			return measure.Sides{}, err
		}
		keys, lister := w.Fleet.Keys(), podLister(ix)
		return measure.Sides{
			Kinform: measure.Side{Run: loop(func(i int) error {
				p, ok := s.Get(keys[i%len(keys)])
				if !ok {
					return found(0, 1)
				}
				return use(p)
			})},
			ClientGo: measure.Side{Run: loop(func(i int) error {
				k := &keys[i%len(keys)]
				p, err := lister.Pods(k.Namespace).Get(k.Name)
				if err != nil {
					return err
				}
				return use(p)
			})},
		}, nil
	}
}

// getThrough looks objects up through a synced informer, beside a lister of client-go.
func getThrough(w *World, with func(*informer.Informer[key, *corev1.Pod]) func(key) bool) func() (measure.Sides, error) {
	return func() (measure.Sides, error) {
		_, ix, err := both(w, 3)
		if err != nil {
			return measure.Sides{}, err
		}
		inf, err := newKinform(newFeed(w.Fleet.Pods()), 3)
		if err != nil {
			return measure.Sides{}, err
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan struct{})
		var runErr error
		go func() { defer close(ended); runErr = inf.Run(ctx) }()
		select {
		case <-inf.Synced():
		case <-ended:
			cancel()
			return measure.Sides{}, runErr
		}
		keys, lister, get := w.Fleet.Keys(), podLister(ix), with(inf)
		return measure.Sides{
			Kinform: measure.Side{
				Run:   loop(func(i int) error { return found(btoi(get(keys[i%len(keys)])), 1) }),
				Close: func() { cancel(); <-ended },
			},
			ClientGo: measure.Side{Run: loop(func(i int) error {
				k := &keys[i%len(keys)]
				_, err := lister.Pods(k.Namespace).Get(k.Name)
				return err
			})},
		}, nil
	}
}

func (w *World) byIndexSlice() (measure.Sides, error) {
	s, ix, err := both(w, 3)
	if err != nil {
		return measure.Sides{}, err
	}
	nodes := w.Fleet.Nodes()
	return measure.Sides{
		Kinform: measure.Side{Run: loop(func(i int) error {
			return found(len(byNode.Get(s, nodes[i%len(nodes)])), pods.PerNode)
		})},
		ClientGo: measure.Side{Run: loop(func(i int) error {
			objs, err := ix.ByIndex("node", nodes[i%len(nodes)])
			if err != nil {
				return err
			}
			return found(len(objs), pods.PerNode)
		})},
	}, nil
}

// byIndexIterated visits the objects without reading them, because reading takes both sides
// the same time.
func (w *World) byIndexIterated() (measure.Sides, error) {
	s, ix, err := both(w, 3)
	if err != nil {
		return measure.Sides{}, err
	}
	nodes := w.Fleet.Nodes()
	return measure.Sides{
		Kinform: measure.Side{Run: loop(func(i int) error {
			n := 0
			for p := range byNode.All(s, nodes[i%len(nodes)]) {
				if p != nil {
					n++
				}
			}
			return found(n, pods.PerNode)
		})},
		ClientGo: measure.Side{Run: loop(func(i int) error {
			objs, err := ix.ByIndex("node", nodes[i%len(nodes)])
			n := 0
			for _, obj := range objs {
				if p, ok := obj.(*corev1.Pod); ok && p != nil {
					n++
				}
			}
			if err != nil {
				return err
			}
			return found(n, pods.PerNode)
		})},
	}, nil
}

func (w *World) list() (measure.Sides, error) {
	s, ix, err := both(w, 3)
	if err != nil {
		return measure.Sides{}, err
	}
	lister := podLister(ix)
	return measure.Sides{
		Kinform: measure.Side{Run: loop(func(int) error { return found(len(s.List()), w.Pods) })},
		ClientGo: measure.Side{Run: loop(func(int) error {
			all, err := lister.List(labels.Everything())
			if err != nil {
				return err
			}
			return found(len(all), w.Pods)
		})},
	}, nil
}

// The ways to walk over a store. Each counts the pods that have a node.
type walker func(*store.Store[key, *corev1.Pod]) int

func chunks(s *store.Store[key, *corev1.Pod]) (n int) {
	for chunk := range s.Chunks() {
		for _, p := range chunk {
			if p.Spec.NodeName != "" {
				n++
			}
		}
	}
	return n
}

func values(s *store.Store[key, *corev1.Pod]) (n int) {
	for p := range s.Values() {
		if p.Spec.NodeName != "" {
			n++
		}
	}
	return n
}

func pairs(s *store.Store[key, *corev1.Pod]) (n int) {
	for k, p := range s.All() {
		if k.Name != "" && p.Spec.NodeName != "" {
			n++
		}
	}
	return n
}

// field and keyAndField are client-go's walks.
func field(ix cache.Indexer) (n int) {
	for _, obj := range ix.List() {
		if obj.(*corev1.Pod).Spec.NodeName != "" {
			n++
		}
	}
	return n
}

func keyAndField(ix cache.Indexer) (n int) {
	for _, obj := range ix.List() {
		k, err := cache.MetaNamespaceKeyFunc(obj)
		if err == nil && k != "" && obj.(*corev1.Pod).Spec.NodeName != "" {
			n++
		}
	}
	return n
}

func walk(w *World, way walker, peer func(cache.Indexer) int) func() (measure.Sides, error) {
	return func() (measure.Sides, error) {
		s, ix, err := both(w, 3)
		if err != nil {
			return measure.Sides{}, err
		}
		return measure.Sides{
			Kinform:  measure.Side{Run: loop(func(int) error { return found(way(s), w.Pods) })},
			ClientGo: measure.Side{Run: loop(func(int) error { return found(peer(ix), w.Pods) })},
		}, nil
	}
}

// selectNamespace lists the namespaces in turns. Both sides have an index of them.
func (w *World) selectNamespace() (measure.Sides, error) {
	s, ix, err := both(w, 3)
	if err != nil {
		return measure.Sides{}, err
	}
	all := map[string]int{}
	for _, key := range w.Fleet.Keys() {
		all[key.Namespace]++
	}
	names, lister := slices.Sorted(maps.Keys(all)), podLister(ix)
	return measure.Sides{
		Kinform: measure.Side{Run: loop(func(i int) error {
			ns := names[i%len(names)]
			return found(len(index.Select(s, ns, nil)), all[ns])
		})},
		ClientGo: measure.Side{Run: loop(func(i int) error {
			ns := names[i%len(names)]
			some, err := lister.Pods(ns).List(labels.Everything())
			if err != nil {
				return err
			}
			return found(len(some), all[ns])
		})},
	}, nil
}

// selectBy measures a lister with a selector. kinform's store has the given indexes.
func (w *World) selectBy(defs ...index.Definition[*corev1.Pod]) func() (measure.Sides, error) {
	return func() (measure.Sides, error) {
		s, err := store.New(store.ObjectKey, store.Options[*corev1.Pod]{Indexes: defs})
		if err != nil {
			return measure.Sides{}, err
		}
		if err := writeList(s, w.Fleet.Pods()); err != nil {
			return measure.Sides{}, err
		}
		ix, err := newIndexer(3, w.Fleet.Pods())
		if err != nil {
			return measure.Sides{}, err
		}
		lister := podLister(ix)
		selector := labels.SelectorFromSet(labels.Set{pods.AppLabel: w.Fleet.App()})
		return measure.Sides{
			Kinform: measure.Side{Run: loop(func(int) error {
				return found(len(index.Select(s, "", selector)), pods.PerApp)
			})},
			ClientGo: measure.Side{Run: loop(func(int) error {
				some, err := lister.List(selector)
				if err != nil {
					return err
				}
				return found(len(some), pods.PerApp)
			})},
		}, nil
	}
}
