// Package index defines typed indexes over the objects of a store, and reads them.
//
//	var byNode = index.New("node", func(dst []string, p *corev1.Pod) []string {
//		return append(dst, p.Spec.NodeName)
//	})
//
// An [Index] is given to a store in its Options, or later with AddIndexes, and then read
// as byNode.Get(pods, "node-1"), where pods is a *store.Store or a *store.Reader: no
// string names it, and a value of the wrong type does not compile. An object may have any
// number of values, of any comparable type without floats and interfaces in it.
// [Namespace] and [Labels] are ready-made; [Select] turns a label selector into a lookup
// where such an index allows.
//
// An [Indexer] is the map of a store's indexes by name, for lookups whose index is only
// known at run time.
//
// # What reads see
//
// Each read sees whole commits only, and the objects and their index values agree. The
// order of the objects is not defined. Objects are shared and must not be changed.
//
// # Cost
//
// A lookup is a hash and a comparison, then a copy of the references found. An update
// that changes none of an object's values costs a comparison per value. An index costs
// 8 bytes per object and 4 per object and value, some 70 per distinct value, and for an
// object with several values 24 and 8 per value more.
package index
