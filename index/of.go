package index

// Of returns defs as a slice for Options that take one, so that the caller need not write the
// element type: Indexes: index.Of(byNode, byOwner).
func Of[T any](defs ...Definition[T]) []Definition[T] { return defs }
