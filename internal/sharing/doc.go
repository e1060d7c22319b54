// Package sharing makes objects share equal parts in memory: it replaces the target of a
// pointer, slice or map by an equal target from an earlier object. The pods of a ReplicaSet
// repeat owners, tolerations, probes, resources and environment, and most of a cluster's
// objects are repetition.
//
// [Compile] turns a Go type into a [Plan] once. [Plan.Share] walks a decoded object from the inside
// out, and looks each part up in a [Cache] by a hash of its whole content. Then it compares the two
// parts. By then equal inner parts are identical, so comparing one level is enough. The original
// encoding of the object does not matter. Objects in protobuf share parts earlier, while they are
// decoded (kubeproto.Parts).
//
// # Parts
//
// A part is the target of an exported pointer, slice or map. Parts are found in fields at any
// depth, in elements, and in values of type any that encoding/json makes. The object itself
// and the structs within it are not parts. Fields of types with their own UnmarshalJSON are
// not visited, except for byte slices.
//
// A type with unexported fields, other than a time, is not a part either. Reading it may write
// to it, as String of a *resource.Quantity does, and then readers of different objects would
// race. Such values in a map are safe, because they have no address. Values that are not
// followed, such as interfaces with methods, are only equal to themselves.
//
// # Writing
//
// Nobody may write to a part, because other objects share it. That is the contract of a
// read-only cache. It also binds code that sees objects before the cache does. A slice has no
// spare capacity, so appending to it makes a copy.
//
// # Concurrency
//
// A Plan is immutable. A Cache belongs to one goroutine at a time. It never writes to a part
// that it has returned, so any number of goroutines may read objects that share parts.
package sharing
