// Package openapi describes Go types as an API server describes its kinds below /openapi: for
// kubectl explain, for clients that read schemas, and for server-side applies.
//
//	err := fake.Register(server, core.Pods, openapi.Rules(core.Pods))
//
// Package fakekube does so for all kinds. The types of k8s.io/api state their fields and the texts
// of these; file server.json has what only an API server knows, such as the values of an
// enumeration, as a JSON merge patch for each type (e2e/builtin writes it). Other types of Go are
// described by their fields and tags.
//
// A description is made when it is asked for. Until then it costs nothing.
package openapi
