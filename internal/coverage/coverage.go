// Package coverage has what the cache of an informer knows about a key that it does not have, for packages informer and
// controller.
package coverage

// Coverage says what the store knows about a key that it does not have.
type Coverage uint8

const (
	// Uncovered: the store knows nothing. In an informer over namespaces, the namespace of the key
	// is not in the set. In any informer, the list that can have the key is refused.
	Uncovered Coverage = iota
	// Listing: the first list that can have the key is on its way, though it may be late. A
	// namespace that is just being added to the set counts as listing.
	Listing
	// Stale: there was no such object some time ago. List and watch are refused now, or have failed
	// for 10 seconds, or the namespace is not as far as the store's version.
	Stale
	// Covered: there was no such object at the store's version.
	Covered
)
