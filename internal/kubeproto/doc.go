// Package kubeproto decodes Kubernetes' protobuf encoding directly into the Go types of
// k8s.io/api and apimachinery, and into any type whose fields have the same struct tags.
//
// [Compile] turns a Go type into a [Plan] once, by reflection over the `protobuf` tags
// that go-to-protobuf leaves on every field. [Plan.Decode] then reads bytes without
// reflection on the common paths. A plan is exactly as strict as the generated code: it
// refuses the same bytes and makes equal objects of all others, with nil and empty kept apart.
//
// # Compared with the generated Unmarshal
//
// The generated code followed by a walk that interns strings uses as little memory in the end,
// but it allocates each string first: 174 allocations and 10.7 KB per pod. A plan needs 54
// allocations and 8.1 KB, with a fifth less CPU time (BenchmarkList in bench/decode, rows
// protobuf/generated+walk and protobuf/plan+strings). A plan interns strings while it decodes
// ([Strings]), and allocates slices once, at their final length. It can also stop at a limit
// of memory ([Options].MaxMemory) and skip metadata.managedFields, which the generated code
// cannot.
//
// # Why an object is not one allocation
//
// Decoding was tried in two passes: the first one counts, and the second one takes slices and structs from typed slabs,
// which are structs made by reflection for each frequent sequence of values. It did not pay. Slabs of up to 512 bytes
// make 36 allocations of a pod's 54, but counting takes longer than 18 allocations: pods take 6–10% more CPU time to
// decode, Nodes 9–13%, pods of many shapes 18%, and EndpointSlices as much as before. Larger slabs make 28 allocations
// and take 4% less, but then a collection takes 12–14% more, because Go's collector is fastest with objects of up to
// 512 bytes. One array per type and object would make 47 allocations, because most types come once in a pod.
//
// # The wire
//
// An object on the wire is an [Envelope] around the object's own bytes. A watch is a sequence
// of frames ([FrameReader]), each a [WatchEvent] with an object in its envelope. A list is one
// envelope, and a [ListReader] returns its items one by one. [ParseMeta] reads an object's
// metadata without decoding the rest.
// (https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding)
//
// # Hostile bytes
//
// No input makes a plan panic. The input limits the memory: a list element takes at least two
// bytes of it, and at most one Go struct in memory. Messages nest at most [MaxDepth] deep.
// Types that only their own Unmarshal method can read are as safe as that method.
//
// # Concurrency
//
// A Plan is immutable and may be used by many goroutines. Strings, FrameReader and ListReader
// belong to one goroutine at a time. Decoded values do not point into the input, unless a
// comment says so.
package kubeproto
