// Package openapi describes Go types as an API server describes its kinds below /openapi.
// Kubectl explain, clients that read schemas, and server-side applies need these descriptions.
//
//	err := fake.Register(server, core.Pods, openapi.Rules(core.Pods))
//
// Package fakekube does so for all kinds. The types of k8s.io/api state their fields and the
// texts of these. For each type, file server.json adds what only an API server knows, such as
// the values of an enumeration, as a JSON merge patch (e2e/builtin writes it). Other Go types
// are described by their fields and tags.
//
// A description costs nothing until someone asks for it.
package openapi
