package kind

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kinform/kinform/internal/mistake"
)

// ErrInvalid is the cause of the errors of [Kind.Check]. It matches the ErrInvalid of package controller.
var ErrInvalid error = mistake.Text("not a usable kind")

// Check returns an error that wraps [ErrInvalid] and names every fault: no resource or no
// version, a name that API servers do not allow, such as a resource with a capital letter, or
// an undefined scope; or that k is nil. An empty Kind and an unknown scope are allowed.
//
//go:noinline
func (k *Kind[T]) Check() error { return check((*plain)(k)) }

func check(k *plain) error {
	if k == nil {
		return fmt.Errorf("%w: it is nil: make it with kind.Of, or take one of with/kubernetes", ErrInvalid)
	}
	faults := nameFaults(k)
	switch k.Scope {
	case UnknownScope, Namespaced, ClusterScoped:
	default:
		faults = append(faults, fmt.Sprintf("scope %q: want %q or %q", k.Scope, Namespaced, ClusterScoped))
	}
	if len(faults) == 0 {
		return nil
	}
	name := k.Kind
	if name == "" {
		name = "a kind without a name"
	}
	return fmt.Errorf("%s of API version %q, resource %q: %w: %s", name, k.GroupVersion(), k.Resource, ErrInvalid, strings.Join(faults, "; "))
}

func nameFaults(k *plain) (faults []string) {
	say := func(what, name string, rule func(string) []string) {
		for _, fault := range rule(name) {
			faults = append(faults, fmt.Sprintf("%s %q: %s", what, name, fault))
		}
	}
	switch lower := strings.ToLower(k.Resource); {
	case k.Resource == "":
		faults = append(faults, "no resource, such as \"websites\"")
	case lower != k.Resource:
		faults = append(faults, fmt.Sprintf("resource %q: must be lower case, such as %q", k.Resource, lower))
	default:
		say("resource", k.Resource, validation.IsDNS1035Label)
	}
	if k.Version == "" {
		faults = append(faults, "no API version, such as \"v1\"")
	} else {
		say("API version", k.Version, validation.IsDNS1035Label)
	}
	if k.Group != "" {
		say("group", k.Group, validation.IsDNS1123Subdomain)
	}
	if k.Kind != "" {
		say("kind", k.Kind, func(name string) []string { return validation.IsDNS1035Label(strings.ToLower(name)) })
	}
	for _, name := range k.Subresources {
		say("subresource", name, pathSegment)
	}
	for _, name := range k.ShortNames {
		say("short name", name, validation.IsDNS1035Label)
	}
	for _, name := range k.Categories {
		say("category", name, validation.IsDNS1035Label)
	}
	return faults
}

// pathSegment allows the names of subresources. In aggregated servers they may have any form that
// fits into a path.
func pathSegment(name string) []string {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/%") {
		return []string{"not one segment of a URL path"}
	}
	return nil
}
