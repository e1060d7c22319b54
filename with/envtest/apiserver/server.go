// Package apiserver is a whole API server in memory, for tests. It is the server of package fake
// with the kinds of Kubernetes (fakekube), CustomResourceDefinitions (fakecrd), users, RBAC,
// access reviews, and admission webhooks and policies.
//
//	server, err := apiserver.New(apiserver.Options{})
//	web := httptest.NewServer(server)
//
// Without a strategy the server neither completes nor validates Kubernetes' own kinds: see
// Options.Fake. The command kube-apiserver of with/strategies has the API server's own
// strategies. envtest starts that program in place of the real one. If a test in Go needs no
// users, use fakekube.New instead.
package apiserver

import (
	"context"
	"errors"
	"net/http"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/filters/impersonation"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/apiextensions/fakecrd"
	"github.com/kinform/kinform/with/kubernetes/fakekube"
)

// Options configure a [Server]. The zero value lets everybody do everything.
type Options struct {
	// Fake configures the server that holds the objects. Its KeepNamespaces is always on. Its hooks
	// Mutate and Validate come before the webhooks. With its Strategy of strategies.New(), the
	// server is the same as the command kube-apiserver's.
	Fake fake.Options

	// ClientCAFile is a file with the certificates (PEM) that sign clients' certificates. A
	// client's name is the common name of its certificate, and its groups are the organizations.
	// Empty means that certificates of clients are ignored.
	ClientCAFile string

	// TokenFile is a CSV file with the columns token, user, uid and, optionally, groups. Empty
	// means that only service accounts have tokens.
	TokenFile string

	// NoAnonymous refuses requests without credentials with 401. Otherwise they come from the user
	// system:anonymous.
	NoAnonymous bool

	// RBAC lets a user do what Roles and ClusterRoles allow, and the group system:masters
	// everything.
	RBAC bool
}

// Server is an API server in memory. It starts no goroutine and needs no Close.
type Server struct {
	fake    *fake.Server
	handler http.Handler
}

// New returns a server in the state of a cluster that has just begun. It reads the files of opts
// once. The errors name a file that cannot be read.
func New(opts Options) (*Server, error) {
	hooks, err := newWebhooks()
	if err != nil {
		return nil, err
	}
	opts.Fake.KeepNamespaces = true
	changes := mutations{webhooks: hooks} // without a store until it is made
	opts.Fake.Mutate = then(hooks.mayCreate, then(opts.Fake.Mutate, changes.mutate))
	var roles rbac // without a store until it is made
	if opts.RBAC {
		opts.Fake.Validate = then(opts.Fake.Validate, func(ctx context.Context, a *fake.Admission) error { return roles.noEscalation(ctx, a) })
	}
	var checks policies // without a store, as well
	opts.Fake.Validate = then(then(opts.Fake.Validate, checks.validate), hooks.validate)
	store, err := fakekube.New(opts.Fake)
	if err != nil {
		return nil, err
	}
	if err := fakecrd.Serve(store); err != nil {
		return nil, err
	}
	if err := errors.Join(registerReviews(store), defaultConfigs(store), defaultPolicies(store)); err != nil {
		return nil, err
	}
	var rules authorizer.UnconditionalAuthorizer = authorizerfactory.NewAlwaysAllowAuthorizer()
	if opts.RBAC {
		if err := createRoles(store); err != nil {
			return nil, err
		}
		roles.store = store
		rules = roles
	}
	hooks.store, hooks.rules = store, rules
	changes.store, changes.rules = store, rules
	checks.store, checks.rules = store, rules
	users, err := authenticate(opts, store)
	if err != nil {
		return nil, err
	}
	return &Server{store, chain(store, users, rules)}, nil
}

// then returns a hook that asks first, unless it is nil, and then next.
func then(first, next func(context.Context, *fake.Admission) error) func(context.Context, *fake.Admission) error {
	if first == nil {
		return next
	}
	return func(ctx context.Context, a *fake.Admission) error {
		if err := first(ctx, a); err != nil {
			return err
		}
		return next(ctx, a)
	}
}

// chain puts the API server's own filters before the server that holds the objects.
func chain(store *fake.Server, users *users, rules authorizer.UnconditionalAuthorizer) http.Handler {
	var h http.Handler = &reviewer{users: users, rules: rules, next: store}
	h = filters.WithAuthorization(h, rules, codecs)
	h = impersonation.WithImpersonation(h, rules, codecs)
	h = filters.WithAuthentication(h, users, filters.Unauthorized(codecs), nil, nil)
	h = filters.WithWarningRecorder(h)
	return filters.WithRequestInfo(h, &request.RequestInfoFactory{
		APIPrefixes:          sets.NewString("api", "apis"),
		GrouplessAPIPrefixes: sets.NewString("api"),
	})
}

// ServeHTTP answers the requests that an API server answers, as [fake.Server.ServeHTTP] does, for
// users who may send them.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Fake returns the server that holds the objects. Its typed functions, faults and counts of
// requests are not subject to users and their rights.
func (s *Server) Fake() *fake.Server { return s.fake }
