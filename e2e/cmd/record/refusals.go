package main

import (
	"context"
	"net/http"
	"net/url"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/e2e/oracle"
)

// refusals records, as JSON, the errors that a client must distinguish.
func (s *session) refusals(ctx context.Context) error {
	stale := configMap(4)
	stale.ResourceVersion = "1"
	invalid := configMap(91)
	invalid.Data = map[string]string{"no such key!": ""}
	return s.record(ctx,
		request{
			name: "error-400-version", about: "LIST with a resource version that is no number",
			path: configMapPath(""), query: url.Values{"resourceVersion": {"newest"}}, want: http.StatusBadRequest,
		},
		request{
			name: "error-401", about: "LIST with an unknown token", path: configMapPath(""),
			client: s.c.HTTPClientAs("no-such-token"), want: http.StatusUnauthorized,
		},
		request{
			name: "error-403", about: "LIST by a user without rights", path: configMapPath(""),
			client: s.guest, want: http.StatusForbidden,
		},
		request{
			name: "error-404", about: "GET of an object that is not there", path: configMapPath("missing"),
			want: http.StatusNotFound,
		},
		request{
			name: "error-404-group", about: "LIST of a resource of a group that is not served: text, no Status",
			path: "/apis/missing.example.com/v1/things", want: http.StatusNotFound,
		},
		request{
			name: "error-404-resource", about: "LIST of a resource that its group does not have",
			path: "/api/v1/things", want: http.StatusNotFound,
		},
		request{
			name: "error-405", about: "DELETE of a collection that cannot be deleted", path: oracle.Path("namespaces", "", ""),
			method: http.MethodDelete, want: http.StatusMethodNotAllowed,
		},
		request{
			name: "error-406", about: "LIST in an encoding that the server does not have", path: configMapPath(""),
			format: format{"application/xml"}, want: http.StatusNotAcceptable,
		},
		request{
			name: "error-409-conflict", about: "PUT with a resource version that is not the last", path: configMapPath(stale.Name),
			method: http.MethodPut, body: stale, want: http.StatusConflict,
		},
		request{
			name: "error-409-exists", about: "POST of an object that is there", path: configMapPath(""),
			method: http.MethodPost, body: configMap(4), want: http.StatusConflict,
		},
		request{
			name: "error-422", about: "POST of an invalid object: Status with causes", path: configMapPath(""),
			method: http.MethodPost, body: invalid, want: http.StatusUnprocessableEntity,
		},
		request{
			name: "error-504-version", about: "LIST not older than a version that is not there yet: a cause tells it from other timeouts",
			path: configMapPath(""), want: http.StatusGatewayTimeout,
			query: url.Values{"resourceVersion": {"1000000000"}, "resourceVersionMatch": {string(metav1.ResourceVersionMatchNotOlderThan)}},
		},
		request{
			name: "delete-configmap", about: "DELETE that is done at once: Status of success", path: configMapPath("cm-00011"),
			method: http.MethodDelete,
		},
		request{
			name: "delete-pod", about: "DELETE that waits for a node: the object with its deletion time", path: podPath("pod-00005"),
			method: http.MethodDelete,
		},
	)
}

// eviction records the 429 with a Status, which has its delay in the header and in the details.
func (s *session) eviction(ctx context.Context) error {
	if err := s.guard(ctx); err != nil {
		return err
	}
	name := pod(1).Name
	return s.record(ctx, request{
		name: "error-429-eviction", about: "POST of an eviction that a disruption budget delays: Status with retryAfterSeconds",
		path: podPath(name) + "/eviction", method: http.MethodPost, want: http.StatusTooManyRequests,
		body: policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}},
	})
}
