package index

// Of returns definitions as a slice, for the Options that take one: it spares the caller
// the type that the elements have in common, as in Indexes: index.Of(byNode, byOwner).
func Of[T any](defs ...Definition[T]) []Definition[T] { return defs }
