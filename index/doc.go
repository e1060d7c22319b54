// Package index defines typed indexes over the objects of a store, and reads them.
//
//	var byNode = index.New("node", func(dst []string, p *corev1.Pod) []string {
//		return append(dst, p.Spec.NodeName)
//	})
//
// Add an [Index] to a store in the store's Options, or later with AddIndexes. Then read it as
// byNode.Get(pods, "node-1"), where pods is a *store.Store or a *store.Reader. A lookup needs no
// string for the index, and a value of the wrong type does not compile.
//
// An object may have any number of values, of any comparable type without floats and interfaces
// in it. A lookup finds equal values only. For any other kind of lookup, let the function return
// every value that someone may look up, such as all prefixes of a string.
//
// [Namespace] and [Labels] are ready-made indexes. [Select] uses them to turn a label selector
// into a lookup. For programs that know the index only at run time, an [Indexer] finds a store's
// indexes by name.
//
// # What reads see
//
// Each read sees whole commits only, and objects always agree with their index values. The order
// of objects is not defined. Objects are shared: treat them as read-only.
//
// # Cost
//
// A lookup computes a hash, compares a value and copies the references found. An update that
// changes none of an object's values compares each value once. An index takes 8 bytes per
// object, 4 bytes per object and value, and about 70 bytes per distinct value. An object with
// several values takes another 24 bytes, and 8 bytes per value.
package index
