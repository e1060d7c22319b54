// Package kubeproto decodes Kubernetes' protobuf encoding straight into the Go types of
// k8s.io/api and apimachinery, and into any type whose fields have the same struct tags.
//
// [Compile] turns a Go type into a [Plan] once, by reflection over the `protobuf` tags
// that go-to-protobuf leaves on every field; [Plan.Decode] then reads bytes without
// reflection on the common paths. Against the generated Unmarshal methods it saves
// allocations: strings that repeat are interned ([Strings]), slices get their length
// before their first element, and metadata.managedFields can be left out. A plan is as
// strict as the generated code, no more and no less: what that refuses is refused, what
// it accepts gives an equal object, nil and empty kept apart.
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
