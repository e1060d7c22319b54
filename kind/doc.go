// Package kind describes a kind of Kubernetes objects by one value: its name, its resource, its
// scope, and the Go type of its objects. Clients, factories and the fake server take this
// value, so a program names each kind once:
//
//	var Websites = kind.Of[*Website](schema.GroupVersion{Group: "example.com", Version: "v1"}, "websites")
//
//	websites, err := client.New(conn, Websites, client.Options{Namespace: "prod"})
//
// Module with/kubernetes has the kinds of Kubernetes itself, such as core.Pods and
// apps.Deployments.
//
// # Go types
//
// [Of] takes the kind's name from the name of T: Website for *Website. If your type has another
// name, say so with [Kind.Named], because objects of any other kind are reported and not used.
// [As] describes the same kind in another type, for example to read only the metadata:
//
//	kind.As[*metav1.PartialObjectMetadata](core.Pods)
//
// If the resource is known only at run time, use [OfResource]. The client then learns the
// kind's name from the server, and does not check the scope.
//
// # Sharing
//
// Clients, handles and [As] share a Kind and do not copy it. So do not write to its fields once
// you have passed it on. Its methods return changed copies, and copies never share a list that
// a method changed. A Kind holds no connection and registers nothing. Any goroutine may use it.
package kind
