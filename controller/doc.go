// Package controller ties informers, a queue and a reconcile function together.
//
//	websites := controller.Open(server, Websites)
//	deployments := controller.Open(server, apps.Deployments)
//	secrets := controller.Open(server, core.Secrets)
//	bySecret := kinform.Index(websites, "secret", func(w *Website) kinform.Key { ... })
//
//	c := controller.New("websites", func(ctx context.Context, key kinform.Key) error { ... })
//	controller.For(c, websites)                  // a change of a website queues its key,
//	controller.Owns(c, websites, deployments)    // one of a deployment that of its owner,
//	controller.References(c, secrets, bySecret)  // and one of a secret those of all websites that refer to it
//	err := c.Run(ctx)
//
// Setup returns no errors. What is wrong is kept, and [Controller.Run] returns all of it at once instead of running:
// of handles, of indexes and of the controller. Err of each of them tells it earlier.
//
// Run runs the informers and waits until the handlers have seen the initial
// lists. Only then does it call reconcile, so at the start reconcile finds complete caches.
//
// The result of reconcile decides about its key: nil is success, [Again] asks for another call
// after a time, [Terminal] ends the retries, and any other error is retried with growing
// delays.
//
// # Handles
//
// A [Handle] serves a controller with one kind: it has a cache with indexes, and requests.
//
//	site, ok := websites.Cached(key)             // from the cache
//	all := websites.List("prod", nil)
//	site, err = websites.Update(ctx, site, ...)  // to the server, and seen by all reads from now on
//	controller.CreateOrUpdate(ctx, websites, ...)
//
// The cache has every write made through the handle when the write returns: by key, in lists, indexes
// and snapshots. That includes deletions, and the update that removes the last finalizer. There is no
// call to remember. Handlers get such a write at once, with informer.Event.Own. What the watch brings of
// it later is no event.
//
// The result of some writes is not known at once: the answer was lost, there was a conflict, the
// informer did not run, or the watch has brought nothing for two minutes. Then Run catches up
// ([Requests.CatchUp]) before it calls reconcile again. Mostly that is one GET of the object, so a
// watch that brings nothing does not hold reconciles up. A few writes name no object: a
// DeleteCollection, or a creation with generateName whose answer was lost. After one of these, and
// if GET is forbidden, all reconciles wait for the watch, or until the server has shown what reads
// lack, which mostly takes less than three seconds ([Projected.WaitForNow]). After 10 seconds for one
// handle the key is queued again with an error, as after any failure.
//
// Run catches up for the handles that were given to For, Owns, Watch and References. It also does so for those
// that reconcile has written through with the context that it was given, unless these calls got only the informer of
// such a handle. If you read a handle elsewhere, or write with another context, call CatchUp there.
//
// [OpenProjected] makes a handle whose cache holds a part of each object.
//
// # Several namespaces
//
//	namespaces := informer.NewNamespaces("dev", "prod")
//	websites := controller.Open(server, Websites, controller.OpenOptions[*Website]{Namespaces: namespaces})
//	deployments := controller.Open(server, apps.Deployments, controller.OpenOptions[*appsv1.Deployment]{Namespaces: namespaces})
//	...
//	err = namespaces.Add("test") // at any time: both handles begin to list and watch it
//
// Such handles need no permission for the whole cluster. Each namespace lists, watches and fails on
// its own:
//
//   - If the server refuses a namespace, only the objects of that namespace are missing.
//     informer.Stats says so, and the informer's OnError gets the refusals.
//   - If the lists of a namespace fail otherwise, or are not answered, the controller begins
//     without it 10 seconds after another namespace has listed (informer.LateNamespaceError).
//   - If a namespace fails later, for 10 seconds, the others go on. If it is not known what writes
//     to it have done, its keys wait until it is back.
//
// Keys of type kinform.Key are reconciled only when all handles have listed their namespace, or
// were refused. If a reconcile reads another namespace than that of its key, it has to ask
// [Projected.Covers] before it makes an object that it does not find. A write to a namespace that
// is not in the set is not sent and returns [ErrOutside]. Take a namespace out of the set only
// after the controller has finished its work there: finalizers of its objects would not be removed.
//
// # Own events
//
// The reconcile of a key is not called again for what it wrote itself. An event does not queue a key if only that
// key's reconcile caused it, by writes through a handle, with the context that it got. For, Owns, Watch or References
// must have got that handle: of an informer every event counts. So a reconcile must do all its work in one call, or
// return [Again]. It must not, for example, add a finalizer, return, and rely on the event of that write to be called
// again: controller-runtime calls it again, and so does this package with Options.OwnEvents.
//
// Every other event counts: one with somebody else's change in it, also if that is another controller or the reconcile
// of another key; a deletion; an initial event; and the result of an apply, or of a patch that states no
// resourceVersion, because a change of somebody else may be in it. In a projection whose objects have no
// resourceVersion every event counts.
//
// A default or a webhook may change what you write. So go on with the object that the request returned.
//
// # Filters
//
// For, Owns, Watch and References take filters: functions that return false for events which are not to be queued. A
// filter gets the old and the new object and the type of the event. [GenerationChanged] leaves out updates in which the
// spec is the same, whoever made them. Use it for objects of which reconcile reads only the spec, if others write the
// status often. It also leaves out changes of labels, annotations and finalizers. Do not use it for objects whose status
// reconcile waits for, such as an owned Deployment.
//
// # Keys
//
// The function of Watch that maps an object to the keys it concerns has the form
// of an index function: func(dst []Q, obj T) []Q. In an update or a deletion it is
// called for the new and for the old object, so that both owners are reconciled
// when a reference moves. For references by name, [References] needs an index and no function.
//
// # Watches that come and go
//
// For, Owns, Watch and References may also be called while Run runs, and [Unwatch] removes what they added. A late
// watch queues keys for all objects that are there, while its cache fills. Reconcile does not wait for that, so a
// reconcile that reads the new cache has to: informer.Informer.WaitForSync. A mistake in a late call does not end Run:
// Options.OnError gets it. If SyncTimeout is set and the new cache does not fill in time, Options.OnError gets the
// [*SyncError], and Run goes on.
//
// # Writes
//
// What most controllers write themselves is here: [CreateOrUpdate] for objects that the controller
// makes, [SetController] and [Adopt] for their owner, [Finalize] for what lives outside the API
// server, [PatchStatus] and [SetCondition] for the status, [Delete], and [Apply]. They need a
// [Client], send nothing if nothing changed, and never undo a change of another writer: on a
// conflict they look at the object again.
//
// The cleanup of Finalize may run again after a crash. By then another object may have the same
// name. So name what lives outside the API server by the UID of its object, and let a second
// cleanup succeed.
//
// They write what changed in the Go type, and nothing else. So fields that your type lacks stay: those
// that a newer API server added, and those that you left out. That includes the elements of lists.
// An element is the same before and after if it is equal, or if its name, key, port, type or the like
// is. Elements without such a member are matched by their place. An element that stays keeps its
// unknown fields, also where it moves; all others are removed or added. A list whose Go type encodes
// itself is written as a whole.
//
// Setting a whole list drops the elements and defaults that others put in, and writes in every call.
// So in the edit of CreateOrUpdate, find the element by its name and set its fields; append it if it
// is not there. To own some elements of a list, use Apply.
//
// Null is a value. An edit can set it inside a field of any form, such as a map[string]any, a
// json.RawMessage or a runtime.RawExtension, and remove it there. Only a json.RawMessage with
// omitempty can also be null as a whole: the other types do not tell null from a field that is not
// there. A field that your type shows as null because the server does not have it is no change, also
// if the edit sets another field of a struct that the server does not have. So the server refuses a
// new struct without a pointer if it lacks a null that is required in it: give the type a pointer to
// that struct. A pointer without omitempty that an edit sets to nil becomes null. A new element of a
// list has the nulls that your type shows. Of a CustomResourceDefinition the server keeps null in
// nullable fields and in fields without a schema. It removes null from other fields, or puts the
// default there.
//
// A change outside of lists is a merge patch, and so is one of a list of which no element stays, or no
// element but scalars: it sets the whole list. A change of another list is a JSON patch, and so is one
// that sets a null, which a merge patch cannot do. If your type has a struct that was zero, without a
// pointer, and a JSON patch sets a field of it, the server may lack the struct. Then the helper finds
// out by one more request for each such struct. API servers refuse a JSON patch with more than 10,000
// changes.
//
//	site, done, err := controller.Finalize(ctx, websites, site, "example.com/dns", removeDNS)
//	if done || err != nil {
//		return err
//	}
//	deployment, _, err := controller.CreateOrUpdate(ctx, deployments, named(site), func(d *appsv1.Deployment) error {
//		if err := controller.SetController(d, site, Websites); err != nil {
//			return err // the name is taken by somebody else
//		}
//		d.Spec.Replicas = &site.Spec.Replicas
//		return nil
//	})
//	if err != nil {
//		return err
//	}
//	_, err = controller.PatchStatus(ctx, websites, site, func(s *Website) {
//		s.Status.Ready = deployment.Status.ReadyReplicas
//	})
//	return err
//
// # Errors and conditions
//
// A condition tells a user what to do, or what the controller waits for. Put these errors into one:
// a name that is taken ([OwnedError]), a spec that the server refuses (Invalid, Forbidden), an
// object that is referred to and is not there. Also return the error, so that it is reported and
// tried again. If only a change of a watched object can help, return it in [Terminal].
//
// Just return all others: conflicts, timeouts, errors of a server, a context that ended. The next
// try mostly mends them, and a condition would cost one more request to a server in trouble. The
// message of a condition must stay the same as long as its cause stays the same. With a time, a
// count or a resourceVersion in it, each reconcile would write.
//
// # Lifetime
//
// Run returns when its context is done, when the queue was shut down, or when an informer
// failed. By then everything that it started has ended. Run does not start informers that run
// already, and does not stop them. When one of them stops, Run returns an error. If two
// controllers share an informer, let package controller/manager run it and the controllers. Or run
// it yourself (go inf.Run(ctx)), or get it from package informer/factory, and start it first. For,
// Owns, Watch and References take a factory's handle like an informer, and so a [Handle].
//
// Run waits for the initial lists as long as they take. If a list is forbidden, or a CRD is
// missing, no key is reconciled: the informer reports the cause to its OnError, and retries.
// To fail at start instead, set Options.SyncTimeout: the error then names each resource and the
// cause.
package controller
