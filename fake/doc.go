// Package fake is a Kubernetes API server in memory, for tests. It behaves like the real server,
// so tests can run the production reflector, cache and queue against it.
//
//	server := fake.New(fake.Options{})
//	err := fake.Register(server, core.Pods, fake.Rules{}) // package with/kubernetes/core
//	pod, err := fake.Create(server, &corev1.Pod{...})
//	source, err := fake.NewSource[*corev1.Pod](server, fake.Selection{Namespace: "prod"})
//	conn := client.Connection{URL: fake.URL, HTTP: server.Client()} // for code that takes a Connection
//
// A test makes and changes objects with the typed functions ([Create], [Update], [UpdateStatus],
// [Patch], [Delete], [Expire]). The code under test uses HTTP, by [Server.Client] without a socket
// or by [Server.ServeHTTP], so it has the client.Resource of production. A [Source] lists and watches
// without HTTP, and answers alike.
//
// # Similarities to the API server
//
// One resourceVersion counts the writes of all resources, and is written into objects. A watch
// resumes from any resourceVersion that the history still holds, and sees every later write of
// its selection once, in order. From an older resourceVersion it gets 410 Expired, as an ERROR
// event. An object that leaves a selection is a DELETED event with the state before, at the new
// resourceVersion; one that enters it is ADDED. All pages of a list show the same state. The
// server follows the API's rules of resourceVersion, resourceVersionMatch and sendInitialEvents:
// https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions.
//
// Refusals are *errors.StatusError with the code, reason and wording of the real ones. If a body
// has unknown or duplicate fields, the client gets warnings, or a refusal if it asks for that.
// uid, creationTimestamp, generation, generateName, finalizers, preconditions, propagation
// policies, dry runs and the deletion of collections work. So does the status subresource, if the
// kind has one. [View], [Action] and [Text] make other subresources, for [Hooks].
//
// The libraries of the API server carry out patches: JSON patches, merge patches, strategic merge
// patches (not for custom resources), and server-side apply with owners, conflicts and force. The
// latter two follow the tags of T. An apply to Unstructured follows the form of the object, and a
// list outside the metadata then has one owner for the whole list.
//
// Selectors work on lists, watches and deletions of collections: by labels, by the fields
// metadata.name and metadata.namespace and those that [AddField] adds, and by shard (KEP-5866).
// [Options] turn on garbage collection and the life cycle of namespaces, or turn the server into
// an older one.
//
// [Define] gives a resource several versions, of any groups and Go types, over the same objects.
// It can also change a definition while the test runs: it ends the resource's watches, and
// informers then list the objects anew. To change a CustomResourceDefinition, see package
// with/apiextensions/fakecrd. Over HTTP, answers are in JSON, YAML or protobuf, as the Accept
// header asks.
//
// # Differences
//
//   - The server refuses a read from the future at once, not after three seconds.
//   - Bookmarks come on [Server.Bookmark], at the end of initial events and at the end of
//     timeoutSeconds, not by the clock. A watch without timeoutSeconds never ends.
//   - Typed objects always have their TypeMeta set, even from a [Source]. In JSON, the items of
//     lists of Kubernetes' own groups leave it out, as in the API server.
//   - The server neither validates specs nor sets defaults, except by the hooks of [Define] and
//     by [Options].Strategy, for which package with/strategies has the API server's own code.
//     Only an apply refuses fields that T does not have, and completes the protocol of ports.
//     [Options].Mutate and Validate take the place of admission. Package
//     with/apiextensions/fakecrd serves CustomResourceDefinitions, with their schemas.
//   - A deletion takes no time, except that a pod with a nodeName is terminating until a request
//     with a gracePeriodSeconds of zero. [Options].StopPods acts as its kubelet, and so does
//     [Delete]. With [Options].Strategy, a pod that goes at once is marked first, as in the API
//     server, and the deletion sleeps for a millisecond. A list can sleep for 100 then.
//   - managedFields begin with an object's first apply, or with a create that states a
//     fieldManager. With [Options].Strategy they begin with its first write, as in the API
//     server. The first apply names the owners of the fields. Fields that the test's own
//     functions wrote, or that were written before the last 32 changes of writer, belong to
//     "before-first-apply" or "unknown". [Rules].TypeConverter decides which structs are owned as
//     a whole.
//   - Garbage collection and the deletion of namespaces are complete when the write that caused
//     them returns, or a concurrent write of another goroutine.
//   - Shard selectors work without a feature gate.
//
// # Ordering, time and goroutines
//
// Calls are synchronous. When a write returns, every reader can see it, and every waiting watch
// has been woken. The server starts no goroutine, and reads the clock only for timestamps. uids
// and generated names depend on the resourceVersion, so they are the same in every run.
//
// A watch lives in the goroutine that pulls it and waits on channels alone, so a testing/synctest
// bubble sees it as durably blocked (faketest.WaitIdle). Its only timer is timeoutSeconds.
// [Server.Client] runs each request's handler in a goroutine that ends before the response's
// Body.Close returns.
//
// # Failing and checking
//
// [Server.Inject] makes requests fail, by their number or by a seeded chance. Package faults
// describes the failures. [Server.Struck] returns the faults that struck, and [faults.Shrink]
// finds the few that matter. [Server.DropWatches], [Server.Restart], [Server.Restore] and
// [Server.Compact] cause lost connections, restarts, restored backups and compactions. No fault
// strikes the typed functions, so a test can go on writing.
//
// [Server.Requests] counts requests by verb and resource, so a test can show that nothing was
// written. [Options].Seen gets each request with its key, its sender and its answer, for example
// for faketest.Transcript.
//
// [Server.Load] and [Object] help to make objects. Package faketest checks the result.
//
// # Copies
//
// The server deep-copies objects in and out, so no caller shares state with it: one copy for a
// write and one for its result, and one for every object of a list or event of a watch.
// [Selection].ReadOnly hands out the server's own objects instead, for receivers that change
// nothing. JSON is made when HTTP first asks for a version of an object, and kept with it.
package fake
