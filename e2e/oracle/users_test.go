package oracle_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"

	"github.com/kinform/kinform/e2e/oracle"
)

func TestUsers(t *testing.T) {
	var got []string
	api := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Method+" "+r.URL.Path)
		if r.URL.Path == "/apis/rbac.authorization.k8s.io/v1/clusterroles" {
			w.WriteHeader(http.StatusConflict) // it exists from the run before
			_, _ = w.Write([]byte(`{"kind":"Status","reason":"AlreadyExists","code":409}`))
			return
		}
		_, _ = w.Write([]byte("{}"))
	})
	ctx := t.Context()
	err := errors.Join(
		oracle.GrantReading(ctx, api, "me"), oracle.LimitReading(ctx, api, "me", "get", "list"), oracle.RevokeReading(ctx, api, "me"),
		oracle.Throttle(ctx, api, "me", 0), oracle.Unthrottle(ctx, api, "me"),
	)
	const flows, levels = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas", "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations"
	const rbac = "/apis/rbac.authorization.k8s.io/v1/"
	want := []string{
		"POST " + rbac + "clusterroles", "POST " + rbac + "clusterrolebindings",
		"PATCH " + rbac + "clusterroles/me-reads", "DELETE " + rbac + "clusterrolebindings/me-reads",
		"POST " + levels, "POST " + flows, "DELETE " + flows + "/me", "DELETE " + levels + "/me",
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v\n%q\nwant\n%q", err, got, want)
	}
}

func TestServiceAccount(t *testing.T) {
	var got []string
	api := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.URL.Path)
		_, _ = w.Write([]byte(`{"status":{"token":"secret"}}`))
	})
	token, err := oracle.ServiceAccount(t.Context(), api, "ns", "me")
	const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/ns/"
	want := []string{"/api/v1/namespaces/ns/serviceaccounts", rbac + "roles", rbac + "rolebindings", "/api/v1/namespaces/ns/serviceaccounts/me/token"}
	if err != nil || token != "secret" || !slices.Equal(got, want) {
		t.Errorf("%q, %v\n%q\nwant\n%q", token, err, got, want)
	}
}

func TestAnswers(t *testing.T) {
	codes := []int{500, 403, 200}
	api := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(codes[0])
		codes = codes[1:]
	})
	if err := api.Answers(t.Context(), "/x", http.StatusForbidden); err != nil || len(codes) != 1 {
		t.Error(err, codes)
	}
}

func TestUntil(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	last, enough := errors.New("last"), errors.New("enough")
	tries := 0
	err := oracle.Until(ctx, func() error {
		if tries++; tries == 3 {
			cancel(enough)
		}
		return last
	})
	if !errors.Is(err, last) || !errors.Is(err, enough) || tries < 3 {
		t.Errorf("%d tries: %v", tries, err)
	}
}
