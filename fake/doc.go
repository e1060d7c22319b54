// Package fake is a Kubernetes API server in memory. Tests can run the production reflector,
// cache and queue against it, because it behaves like the real server.
//
//	server := fake.New(fake.Options{})
//	err := fake.Register(server, core.Pods, fake.Rules{}) // package with/kubernetes/core
//	pod, err := fake.Create(server, &corev1.Pod{...})
//	source, err := fake.NewSource[*corev1.Pod](server, fake.Selection{Namespace: "prod"})
//	conn := client.Connection{URL: fake.URL, HTTP: server.Client()} // for code that takes a Connection
//
// A test makes and changes objects with the typed functions ([Create], [Update], [UpdateStatus],
// [Patch], [Delete], [Expire]). The code under test uses one of two surfaces that answer alike. One
// is a [Client], or its reading half, a [Source], both without sockets. The other is HTTP, by
// [Server.ServeHTTP] or [Server.Client]. A Client has the methods of client.Resource that send
// requests: code that declares an interface of the methods it needs accepts either.
//
// # Similarities to the API server
//
// One resourceVersion counts the writes of all resources, and is written into objects. A watch
// resumes from any resourceVersion that the history still holds, and sees every later write of
// its selection once, in order. From an older resourceVersion it gets 410 Expired, as an ERROR
// event. An object that leaves a selection is a DELETED event with the state before, at the
// new resourceVersion; one that enters it is ADDED. All pages of a list show the same state.
// The rules of resourceVersion, resourceVersionMatch and sendInitialEvents are those of
// https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions. Refusals
// are *errors.StatusError with the code, reason and wording of the real ones. uid,
// creationTimestamp, generation, generateName, finalizers, preconditions, propagation
// policies, dry runs and the deletion of collections work, and so does the status
// subresource, if the kind has one; [View], [Action] and [Text] make other subresources, for
// [Hooks]. If a body has unknown or duplicate fields, the client gets warnings, or a refusal if it
// asks for that.
//
// Patches are carried out by the libraries of the API server: JSON patches, merge patches,
// strategic merge patches (not for custom resources), and server-side apply with owners, conflicts
// and force. The latter two go by the tags of T. An apply to Unstructured goes by the form of the
// object; lists outside the metadata are then owned as a whole.
//
// Selectors work on lists, watches and deletions of collections: by labels, by the fields
// metadata.name and metadata.namespace and those of [AddField], and by shard (KEP-5866).
// [Options] turn on garbage collection and the life cycle of namespaces, or turn the server
// into an older one.
//
// [Define] gives a resource several versions, of any groups and Go types, over the same objects. It
// also changes a definition while the test runs, and ends the resource's watches; informers then list
// the objects anew. To change a CustomResourceDefinition, see package with/apiextensions/fakecrd.
// Over HTTP, answers are in JSON, YAML or protobuf, as the Accept header asks.
//
// # Differences
//
//   - A read from the future is refused at once, not after three seconds.
//   - Bookmarks come on [Server.Bookmark], at the end of initial events and at the end of
//     timeoutSeconds, not by the clock. A watch without timeoutSeconds never ends.
//   - Typed objects always have their TypeMeta set, also those from a [Source]. In JSON the
//     items of lists leave it out as the API server does, in groups of Kubernetes' own.
//   - The server neither validates specs nor sets defaults, except by the hooks of [Define] and by
//     [Options].Strategy, for which package with/strategies has the API server's own code. Only an
//     apply refuses fields that T does not have, and completes the protocol of ports.
//     [Options].Mutate and Validate take the place of admission. Package with/apiextensions/fakecrd
//     serves CustomResourceDefinitions, with their schemas.
//   - A deletion takes no time, except that a pod with a nodeName is terminating until a request
//     with a gracePeriodSeconds of zero. [Options].StopPods acts as its kubelet, and so does
//     [Delete]. With [Options].Strategy a pod that goes at once is marked for a millisecond first,
//     as in the API server.
//   - managedFields begin with an object's first apply, or with a create that states a
//     fieldManager; with [Options].Strategy, as in the API server, with its first write. The first
//     apply names the owners of the fields. Fields that the test's own
//     functions wrote, or that were written before the last 32 changes of writer, belong to
//     "before-first-apply" or "unknown". Only OpenAPI says that a struct is owned as a whole, so
//     without [Rules].TypeConverter each field of such a struct has owners of its own. Package
//     with/kubernetes/openapi has the converter for Kubernetes' own kinds.
//   - Garbage collection and the deletion of namespaces are complete when the write that
//     caused them returns, or a concurrent write of another goroutine.
//   - Shard selectors work without a feature gate.
//
// # Ordering, time and goroutines
//
// Calls are synchronous: when a write returns, every reader can see it and every watch that waits
// has been woken. The server starts no goroutine and reads the clock only for timestamps; uids
// and generated names depend on the resourceVersion, and are the same in every run. A watch lives
// in the goroutine that pulls it and waits on channels alone, so that a testing/synctest bubble
// sees it as durably blocked (faketest.WaitIdle); its only timer is timeoutSeconds. With
// [Options].Strategy, the deletion of a pod sleeps for a millisecond. [Server.Client] runs each
// request's handler in a goroutine that ends before the response's Body.Close returns.
//
// # Failing and checking
//
// [Server.Inject] makes requests fail, by their number or by a seeded chance: refusals, delays,
// silent watches, broken connections, truncated bodies, events twice or out of order, a restart.
// Package faults describes them, and gives them a form in text. [Server.Struck] returns the faults
// that struck, and [faults.Shrink] finds the few that matter. [Server.DropWatches],
// [Server.Restart], [Server.Restore] and [Server.Compact] do what happens to a real server: lost
// connections, restarts, restored backups and compactions. No fault strikes the typed functions, so
// a test can go on writing.
//
// [Server.Requests] counts requests by verb and resource, so a test can show that nothing was
// written. [Options].Seen gets each with its key, its sender and its answer, and
// faketest.Transcript shows them when a test fails.
//
// [Server.Load] and [Object] help to make objects. Package faketest checks the result: it waits for
// the events of a handler, checks their order, compares a cache with the server, and finds
// goroutines left behind.
//
// # Copies
//
// Objects are deep-copied in and out, so that no caller shares state with the server:
// one copy for a write and one for its result, and one for every object of a list or
// event of a watch. [Selection].ReadOnly hands out the server's own objects instead, for
// receivers that promise to change nothing. JSON is made when HTTP first asks for a
// version of an object, and kept with it.
package fake
