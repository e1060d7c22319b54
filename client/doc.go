// Package client is a typed client of one resource of a Kubernetes API server, over any
// *http.Client and base URL. [Resource] reads, writes, lists and watches; it is a
// reflector.Source, so that a reflector or informer can be put on it directly.
//
//	conn := client.Connection{URL: "http://127.0.0.1:8001"} // kubectl proxy
//	widgets, err := client.New[*Widget](conn,
//		schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"},
//		client.Options{Namespace: "prod", LabelSelector: "tier=web"})
//
// # What T may be
//
// Any type that encoding/json decodes the resource into: a pointer to a built-in type or
// to a hand-written struct of a custom resource, *unstructured.Unstructured,
// *metav1.PartialObjectMetadata, or a struct value, with metadata or without. There is no
// scheme and nothing to register. Name and resourceVersion come from the object where T
// has them, and else from the JSON.
//
// For *metav1.PartialObjectMetadata the server is asked to send metadata only. A server
// that does not know how sends whole objects, of which only the metadata is decoded.
//
// Whether an object came from Get, List or Watch, its kind and apiVersion are set if T has
// fields for them (client-go leaves them empty in typed objects,
// https://github.com/kubernetes/client-go/issues/541); those of a PartialObjectMetadata
// are its own.
//
// # How objects are decoded
//
// A body is read value by value and never held as a whole. Each object's bytes are first
// delimited by the JSON grammar, and then decoded straight into a T of its own. So there
// are two kinds of failure:
//
//   - One object is bad: a field does not fit its Go type, the kind is another,
//     there is no name, or it is null; also a panic in the type's own UnmarshalJSON, as a
//     [PanicError]. This costs one object: it is reported as a *reflector.ObjectError
//     with its key as far as known, and the list or watch goes on.
//   - The list or watch itself is broken: the JSON is not well-formed or ends too early,
//     or the answer is not a list or watch at all. This ends the call with an error that
//     says where.
//
// The rules are those of apimachinery: field names are case-sensitive, unknown ones are
// ignored, the last of duplicates wins, invalid UTF-8 becomes U+FFFD, and numbers in
// untyped values are int64 if they can be. No string of an object refers to the body, so a
// cache pins what it holds and nothing else. Objects share strings, and with
// [Options].SharedParts more than those.
//
// Delimiting takes about a tenth of the time of decoding. It needs a buffer of the size of
// the largest object in the list or watch, for as long as that runs.
//
// # Encodings
//
// Kubernetes protobuf is asked for where every field of T has a protobuf tag, with JSON as
// the second choice; other types ask for JSON, and [Options] can ask for another
// [Encoding]. Answers are decoded by their Content-Type. A server that refuses the encoding
// with 406 is asked for JSON from then on. Requests are sent as JSON. CBOR that JSON cannot express, such as NaN, costs one object.
//
// A CBOR object is the one that apimachinery's CBOR serializer makes of it, and mostly the one
// that the same object makes in JSON. JSON that a type keeps as it is, such as
// metav1.FieldsV1 and runtime.RawExtension, comes with its members sorted by name, because CBOR
// does not tell their order; API servers write those of custom resources in that order in JSON
// too, but sort numbers in the keys of managedFields of built-in types by value. These are the
// differences from apimachinery: if a map has a member twice, the last one wins; bytes that
// are not UTF-8 become U+FFFD in a string; an untyped integer beyond int64 is a float64; bytes
// with the tags 21 and 23 are a base64url or hex text even in a []byte (API servers write tag
// 22); a time in seconds is a text even in a number; and UnmarshalJSON is called, but not
// UnmarshalCBOR.
//
// Answers may be compressed with gzip. The transport of an *http.Client asks for it and
// decompresses, unless its DisableCompression is set.
//
// An object over [Options].MaxObjectBytes also costs only itself. It is skipped, and reported
// with its key, its version and the type of the event. If even the type is not known, the event
// is reported as a deletion, because it may be one; a reflector then lists again. The limit
// counts bytes without compression, so a small answer cannot become a large one in memory.
//
// A small object cannot become a large one either. Two bytes of JSON can become a struct of 700
// bytes, so an object that would take more than eight times the limit in memory is too large as
// well. This is estimated, and never too low. With the buffers for reading, no hostile object
// was found to take more than ten times the limit: 160 MiB by default, for each list or watch
// that is reading one.
//
// # Connections
//
// A [Connection] is a base URL and an *http.Client, whichever way that was made.
// [NewConnection] makes both of a CA, a client certificate and a bearer token, in files
// that may change while they are used; [InCluster] does so for a pod. Through kubectl
// proxy a URL is enough. Package with/kubeconfig makes a Connection of a kubeconfig,
// credential plugins and OIDC included.
//
// Calls that the server puts off by 429 or 5xx with Retry-After are made again, and reads
// also if their connection broke; lists and watches are not, because a reflector has its
// own backoff. A call other than a watch that hears next to nothing for three minutes ends
// with [ErrStalled]. There is no limit on requests per second unless Connection.Limiter is set.
//
// # Errors
//
// Every error says the verb and the resource, and the key where there is one. A refusal is
// an *errors.StatusError of k8s.io/apimachinery/pkg/api/errors, whether the server sent a
// Status, a text or a page of HTML; its Details hold the delay of a Retry-After header.
// When the context is done the error matches ctx.Err(). Errors of the transport are
// wrapped, so that errors.Is(err, syscall.ECONNREFUSED) works. The rest are the variables
// of this package. Nothing that a server sends makes this package panic.
//
// No error shows a token, a key, or the password of a URL, and neither do Connection and
// ConnectionOptions when they are printed or logged. A URL or the address of a proxy that may
// have a password and does not parse is not shown at all. An answer that is not of the
// Kubernetes API is shown as far as its first 160 bytes if they are text.
//
// # Concurrency
//
// All methods may be called at the same time. A Resource is immutable except for its counters,
// the kind of its last list, and the encoding that the server refused. It starts no goroutine.
// A list or watch runs in the goroutine of its caller, as does the caller's yield function or
// loop body, so a slow consumer slows the server down.
package client
