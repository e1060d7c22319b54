// Package recovery measures how long informers take until they are right again after a fault, with Kinform and with
// client-go in the same rounds on the same kube-apiserver.
//
// # What is measured
//
// Each library has ten informers of ten kinds, with the defaults of the library, and reaches the server through a proxy
// of its own. An event breaks something. While it lasts, objects are written that no informer can see. The clock starts
// when the server is reachable and right: it is ready, the proxies forward, and the objects that were written are
// there. It stops when all caches of a library have those objects. Afterwards every cache is compared with a list that
// neither library has made.
package recovery
