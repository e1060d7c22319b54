// Package sharing makes equal parts of objects one in memory: what pointers, slices and
// maps of one object lead to is replaced by an equal one of an object before it. The pods
// of a ReplicaSet repeat owners, tolerations, probes, resources and environment; a
// cluster's objects are mostly repetition.
//
// [Compile] turns a Go type into a [Plan] once. [Plan.Share] walks a decoded object from
// the inside to the outside, and looks each part up in a [Cache] by a hash of all that is
// in it. What is found is compared: parts within it are the same by then if they are
// equal, so that comparing one level is enough. It does not matter what the object was
// decoded from.
//
// # What is a part
//
// A part is the target of an exported pointer, slice or map. Parts are found in fields at any
// depth, in elements, and in values of type any that encoding/json makes. The object itself and
// the structs within it are no parts. The fields of types with an UnmarshalJSON of their own
// are not looked at, except for byte slices.
//
// A type with unexported fields, other than a time, is no part either: reading it may write to
// it, as String of a *resource.Quantity does, and then readers of different objects would race.
// Such values in a map are safe, because they have no address. Values that are not followed,
// such as interfaces with methods, are equal only if they are the same.
//
// # Who may write
//
// Nobody may write to a part, because other objects have it too. That is the contract of a
// read-only cache; it also binds code that sees objects before the cache does. A slice has no
// room behind its end, so appending to it makes a copy.
//
// # Concurrency
//
// A Plan is immutable. A Cache belongs to one goroutine at a time. It never writes to what
// it has handed out, so objects that share parts may be read by any number of goroutines.
package sharing
