// Package fake is a Kubernetes API server in memory, for tests that run the production
// reflector, cache and queue against something that behaves as the real server does.
//
//	server := fake.New(fake.Options{})
//	err := fake.Register[*corev1.Pod](server, fake.Resource{})
//	pod, err := fake.Create(server, &corev1.Pod{...})
//	source, err := fake.NewSource[*corev1.Pod](server, fake.Selection{Namespace: "prod"})
//
// A test writes with the typed functions ([Create], [Update], [Patch], [Delete]) and the
// code under test reads by one of two surfaces that answer alike: a [Source], which is a
// reflector.Source without sockets, or HTTP, by [Server.ServeHTTP] or [Server.Client].
//
// # What it keeps of the API server
//
// One resourceVersion counts the writes of all resources, and is written into objects.
// A watch resumes from any resourceVersion that the history still holds and sees every
// later write of its selection once, in order; from before it, it gets 410 Expired, as an
// ERROR event. An object that leaves a selection is a DELETED event with the state before,
// at the new resourceVersion; one that enters it is ADDED. Lists are consistent over
// their pages. The rules for unset, "0" and future resourceVersions, resourceVersionMatch
// and sendInitialEvents are those of
// https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions. Refusals
// are *errors.StatusError with the code, reason and wording of the real ones. uid,
// creationTimestamp, generation, generateName and finalizers work.
//
// # What differs
//
//   - A read from the future is refused at once, not after three seconds.
//   - Bookmarks come on [Server.Bookmark], at the end of initial events and at the end of
//     timeoutSeconds, not by the clock. A watch without timeoutSeconds never ends.
//   - Typed objects always have their TypeMeta set, also those from a [Source]. In JSON the
//     items of lists leave it out as the API server does, in groups of Kubernetes' own.
//   - Names are DNS subdomains in all resources; namespaces need not exist; update
//     without a resourceVersion is allowed; nothing validates a spec.
//   - There is no status subresource, no patch but the merge patch, no dry run, no
//     delete of a collection, no garbage collection, no protobuf.
//
// # Ordering, time and goroutines
//
// Calls are synchronous: when a write returns, every reader can see it and every watch
// that waits has been woken. The server starts no goroutine and reads the clock only for
// timestamps; uids and generated names are the same in every run. A watch lives in the
// goroutine that pulls it and waits on channels alone, so that a testing/synctest bubble
// sees it as durably blocked; its only timer is timeoutSeconds. [Server.Client] runs each
// request's handler in a goroutine that ends before the response's Body.Close returns.
//
// # Failing and checking
//
// [Server.Inject] makes requests fail, by their order and not by chance: refusals, silent
// watches, broken connections, truncated bodies. [Server.DropWatches] and
// [Server.Compact] do what a network and a garbage collector do. The typed functions are
// never struck, so a test can go on writing. [Histories] checks what a handler is told,
// and [Diff] compares a cache with the server.
//
// # Copies
//
// Objects are deep-copied in and out, so that no caller shares state with the server:
// one copy for a write and one for its result, and one for every object of a list or
// event of a watch. [Selection].ReadOnly hands out the server's own objects instead, for
// receivers that promise to change nothing. JSON is made when HTTP first asks for a
// version of an object, and kept with it.
package fake
