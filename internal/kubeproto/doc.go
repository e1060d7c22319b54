// Package kubeproto decodes Kubernetes' protobuf encoding straight into the Go types of
// k8s.io/api and apimachinery, and into any type whose fields have the same struct tags.
//
// [Compile] turns a Go type into a [Plan] once, by reflection over the `protobuf` tags
// that go-to-protobuf leaves on every field. [Plan.Decode] then reads bytes without
// reflection on the common paths. A plan is exactly as strict as the generated code: it
// refuses the same bytes and makes equal objects of all others, with nil and empty kept apart.
//
// # Why not the generated Unmarshal
//
// The generated code followed by a walk that interns strings holds as little memory in the
// end, but it allocates each string first: 174 allocations and 10.7 KB per pod, where a plan
// needs 68 and 8.1 KB, with a fifth less CPU time (BenchmarkList in bench/decode, rows
// protobuf/generated+walk and protobuf/plan+strings). A plan interns strings while it decodes
// ([Strings]), and allocates slices once, at their final length. It can also do two things that
// the generated code cannot: stop at a limit of memory ([Options].MaxMemory), and skip
// metadata.managedFields.
//
// # The wire
//
// An object on the wire is an [Envelope] around the object's own bytes; a watch is a
// sequence of frames ([FrameReader]), each a [WatchEvent] whose object is an envelope; a
// list is one envelope whose items come out of a [ListReader] one by one. [ParseMeta] looks
// into an object's metadata without decoding the rest.
// (https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding)
//
// # Hostile bytes
//
// Nothing in the bytes makes a plan panic. Memory is bounded by the input: two bytes are
// the least that a list element takes, and its Go struct the most that it costs. Messages
// nest at most [MaxDepth] deep. Types that only their own Unmarshal method understands are
// as safe as that method.
//
// # Concurrency
//
// A Plan is immutable and may be used by many goroutines. Strings, FrameReader and
// ListReader belong to one goroutine at a time. Nothing decoded points into the input,
// except where a comment says so.
package kubeproto
