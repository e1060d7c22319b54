package fake

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// checkKind refuses a body of another kind, in the words of the API server. It decodes a body of one
// of Kubernetes' own resources as what the body says, and fails when it cannot convert that.
func (t *table) checkKind(got schema.GroupVersionKind) error {
	err := t.res.checkKind(got)
	sibling := slices.ContainsFunc(t.main().all(), func(v *table) bool { return v.res.GroupVersionKind() == got })
	if err == nil || sibling || t.res.custom() {
		return err
	}
	return t.server.errOtherKind(got, t.res.GroupVersionKind())
}

// errOtherKind is the 400 of a body of the kind got, where a body of another kind is due.
func (s *Server) errOtherKind(got, want schema.GroupVersionKind) error {
	got.Kind = cmp.Or(got.Kind, want.Kind)
	if got.Group == "" && got.Version == "" {
		got.Group, got.Version = want.Group, want.Version
	}
	cause := notRegistered(got.Kind, got.GroupVersion().String())
	if t := s.ofKind(got); t != nil && !t.res.custom() {
		cause = fmt.Sprintf("converting (%s.%s) to (%s.%s): unknown conversion", got.Version, got.Kind, goPackage(want.Group), want.Kind)
	}
	return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %s", got.Kind, got.Version, want.Kind, cause))
}

// notRegistered is what the API server says of a kind that it does not know. The scheme has the name
// of the line that made it.
func notRegistered(kind, version string) string {
	return fmt.Sprintf("no kind %q is registered for version %q in scheme %q", kind, version, "pkg/runtime/scheme.go:111")
}

// goPackage is the name of the package with the API server's own types of a group.
func goPackage(group string) string {
	switch group {
	case "", "events.k8s.io":
		return "core"
	case "internal.apiserver.k8s.io":
		return "apiserverinternal"
	}
	name, _, _ := strings.Cut(group, ".")
	return name
}
