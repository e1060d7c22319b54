// Package client is a typed client of one resource of a Kubernetes API server, over any
// *http.Client and base URL. A [Resource] reads, writes, lists and watches. It implements
// reflector.Source, so a reflector or an informer can use it directly.
//
//	conn := client.Connection{URL: "http://127.0.0.1:8001"} // kubectl proxy
//	widgets, err := client.New(conn,
//		kind.Of[*Widget](schema.GroupVersion{Group: "example.com", Version: "v1"}, "widgets"),
//		client.Options{Namespace: "prod", LabelSelector: "tier=web"})
//
// # Types for T
//
// T is any type that encoding/json decodes the resource into: a pointer to a built-in type or to
// your own struct for a custom resource, *unstructured.Unstructured,
// *metav1.PartialObjectMetadata, or a struct value, with or without metadata. There is no scheme
// and nothing to register. The client takes name and resourceVersion from the object if T has
// them, and otherwise from the JSON.
//
// For *metav1.PartialObjectMetadata the client requests metadata only. If a server cannot do that
// and sends whole objects, the client decodes only their metadata.
//
// Objects from Get, List and Watch all have kind and apiVersion set if T has fields for them.
// (client-go leaves them empty in typed objects,
// https://github.com/kubernetes/client-go/issues/541.) In a PartialObjectMetadata they are
// meta.k8s.io/v1 and PartialObjectMetadata.
//
// # How objects are decoded
//
// A body is read value by value and never held as a whole. The client finds the end of each
// object, then decodes the object directly into a new T. So there are two kinds of failure:
//
//   - One object is bad: a field does not fit its Go type, the kind is wrong, the name is
//     missing, or the object is null. A panic in the type's UnmarshalJSON counts too, as a
//     *informer.PanicError. Only that object is skipped: it is reported as a *reflector.ObjectError with
//     the key, if that is known, and the list or watch continues.
//   - The list or watch itself is broken: the JSON is malformed or ends too early, or the answer
//     is not a list or watch at all. This ends the call with an error that gives the position.
//
// The rules are the same as in apimachinery: field names are case-sensitive, unknown fields are
// ignored, the last of duplicates wins, invalid UTF-8 becomes U+FFFD, and numbers in untyped
// values are int64 if possible. No string of an object refers to the body, so a cached object
// keeps nothing else in memory. Objects share equal strings, and those that a reflector reads other
// parts too: see [Resource.Relist]. Finding the ends of objects takes about a tenth of the decoding time, and a buffer
// of the size of the largest object until the list or watch ends.
//
// # Encodings
//
// If every field of T has a protobuf tag, the client requests Kubernetes protobuf, and otherwise
// JSON. JSON is always the second choice. The Content-Type decides how an answer is decoded. If a
// server refuses the encoding with 406, the client requests JSON from then on. Request bodies are
// JSON. A protobuf list is recognized by a kind that ends in "List". If it has another name, as it
// may in an aggregated API, name the kind.
//
// Answers may be compressed with gzip. The transport of an *http.Client requests and decompresses
// it, unless its DisableCompression is set. An API server compresses lists of more than 128 KB,
// and watches that begin with a list. The client decompresses such a watch itself, each gzip
// member as soon as it is complete, so that no event waits for the next one. It requests other
// watches without compression, because a proxy may hold compressed events back, and single objects,
// because they are small.
//
// # Limits of one object
//
// An object over [Options].MaxObjectBytes is skipped, and reported with its key, its version and
// the type of the event. If even the type is not known, the event is reported as a deletion,
// because it may be one, and a reflector then lists again. The limit bounds the uncompressed
// bytes and, as eight times the limit, the estimated memory of the decoded object: two bytes of
// JSON can become a struct of 700 bytes. With the buffers for reading, no hostile object was
// found to take more than ten times the limit: 160 MiB by default, for each list or watch that is
// reading one.
//
// # Connections
//
// A [Connection] is a base URL and an *http.Client, however you made that. [NewConnection] makes
// both from a CA, a client certificate and a bearer token, in files that may change while they
// are in use. [InCluster] does so for a pod. For kubectl proxy a URL is enough. Package
// with/kubeconfig makes a Connection from a kubeconfig, including credential plugins and OIDC.
//
// Calls that the server refuses with 429 or 5xx and a Retry-After are retried, and so are reads
// whose connection broke, but not lists and watches (see Connection.Retries). A call other than a
// watch ends if it receives almost nothing for three minutes. The rate of
// requests is not limited unless you set Connection.Limiter.
//
// # Errors
//
// Every error names the verb and the resource, and the key if there is one. A refusal is an
// *errors.StatusError of k8s.io/apimachinery/pkg/api/errors, whether the server sent a Status, a
// text or an HTML page. A Status without kind, or of apiVersion meta.k8s.io/v1, counts too. The
// Details contain the delay of a Retry-After header. When the context is done, the error matches
// ctx.Err(). Errors of the transport are wrapped, so errors.Is(err, syscall.ECONNREFUSED) works.
// The rest are the variables of this package. Nothing that a server sends makes this package
// panic.
//
// No error shows a token, a key, or the password of a URL, and neither does a printed or logged
// Connection or ConnectionOptions. If a URL or the address of a proxy does not parse and may
// contain a password, it is not shown at all. Of an answer that is not from the Kubernetes API,
// up to 160 bytes are shown, if these are text.
//
// # Concurrency
//
// All methods are safe from any goroutine. A Resource is immutable except for its counters, the
// kind of its last list, and the encoding that the server refused. A list or watch runs in its
// caller's goroutine, and so does the caller's yield function or loop body. So a slow consumer
// slows the server down. Nothing starts a goroutine but long lists and the initial events of a watch:
// up to four goroutines, one per processor (GOMAXPROCS), begin after some objects, decode them, and end
// with the call, in a watch with the initial events. Methods of T that decode run in them, for several
// objects at a time. Objects are still yielded in the server's order and by the caller's goroutine.
//
// An object may then be yielded only together with later ones. In a list, it waits for the end of the
// list at most. In a watch, it waits for the next event that is no Added, or for an Added that comes
// 100 ms after the last yielded one, and is lost if ctx is done before. A watch without
// AllowWatchBookmarks, in which none of these may come, decodes in the goroutine of the caller. So does a
// list or watch whose reader says which objects it has, as a reflector's later lists.
package client
