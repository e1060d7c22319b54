// Package fakecrd makes a fake server serve CustomResourceDefinitions as an API server does.
//
//	server := fake.New(fake.Options{})
//	err := fakecrd.Serve(server)
//	err = server.Load(os.DirFS("../config"), "crd") // the program's own manifests
//
// From then on the server serves the custom resources: in discovery, by HTTP, and for a
// client.Resource or the typed functions of package fake, where their Go type is
// *unstructured.Unstructured. The API server's own code decides whether a definition is valid,
// which fields are pruned, which defaults are set, and which objects a schema and its CEL rules
// refuse. Refusals have the API server's words.
//
// A definition takes effect before the write that made it returns, or a concurrent write of another
// goroutine. Its conditions say so. If it changes, open watches of its objects end, the objects
// follow the new schema when they are next read, and informers list them anew within seconds (see
// [fake.Define]). If it is deleted, its objects are deleted first, and those with finalizers hold
// it back.
//
// To change a definition in a test, call [fake.Change] with the type
// *apiextensionsv1.CustomResourceDefinition.
//
// # Differences
//
//   - A conversion webhook is called for one object at a time, and for each read of an object in a
//     version other than the storage version.
//   - While a definition with held objects is being deleted, an object can be created, and is
//     deleted at once. The API server refuses it.
//   - If the test has registered a resource with another Go type, a definition of that resource is
//     never established. The condition NamesAccepted names the reason.
//   - [fake.Server.Restore] brings back the objects of a definition only if the definition has
//     existed ever since the backup.
package fakecrd
