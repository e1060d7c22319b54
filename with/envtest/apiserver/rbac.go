package apiserver

import (
	"context"
	"errors"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
)

// rbac lets users do what the roles in the server allow
// (https://kubernetes.io/docs/reference/access-authn-authz/rbac/).
type rbac struct{ store *fake.Server }

// Authorize implements authorizer.UnconditionalAuthorizer.
func (r rbac) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	who := a.GetUser()
	if slices.Contains(who.GetGroups(), user.SystemPrivilegedGroup) {
		return authorizer.DecisionAllow, "", nil
	}
	allowed := func(rules []rbacv1.PolicyRule) bool {
		return slices.ContainsFunc(rules, func(rule rbacv1.PolicyRule) bool { return allows(rule, a) })
	}
	for rules := range r.rulesOf(who, a.GetNamespace()) {
		if allowed(rules) {
			return authorizer.DecisionAllow, "", nil
		}
	}
	return authorizer.DecisionNoOpinion, "", nil
}

// rulesOf returns the rules of every role that is bound to a user: in the whole cluster and, if
// namespace is not empty, also in the namespace.
func (r rbac) rulesOf(who user.Info, namespace string) func(yield func([]rbacv1.PolicyRule) bool) {
	return func(yield func([]rbacv1.PolicyRule) bool) {
		all := fake.Selection{ReadOnly: true}
		clusterwide, _ := fake.List[*rbacv1.ClusterRoleBinding](r.store, all) // registered, so there is no error
		for _, b := range clusterwide {
			if bound(b.Subjects, who, "") && !yield(r.clusterRole(b.RoleRef.Name)) {
				return
			}
		}
		if namespace == "" {
			return
		}
		all.Namespace = namespace
		inNamespace, _ := fake.List[*rbacv1.RoleBinding](r.store, all)
		for _, b := range inNamespace {
			if !bound(b.Subjects, who, namespace) {
				continue
			}
			rules := r.role(namespace, b.RoleRef.Name)
			if b.RoleRef.Kind == "ClusterRole" {
				rules = r.clusterRole(b.RoleRef.Name)
			}
			if !yield(rules) {
				return
			}
		}
	}
}

// mayCreate refuses an apply or an update that creates an object, unless the user may create it.
// The filters have looked only at the verb of the request.
func (h *webhooks) mayCreate(ctx context.Context, a *fake.Admission) error {
	info, ok := request.RequestInfoFrom(ctx)
	who, known := request.UserFrom(ctx)
	if !ok || !known || a.Verb != faults.VerbCreate || info.Verb == "create" {
		return nil
	}
	create := authorizer.AttributesRecord{
		User: who, Verb: "create", Namespace: a.Key.Namespace, Name: a.Key.Name, ResourceRequest: true, Path: info.Path,
		APIGroup: a.Resource.Group, APIVersion: a.Resource.Version, Resource: a.Resource.Resource,
	}
	decision, reason, err := h.rules.Authorize(ctx, create)
	switch {
	case decision == authorizer.DecisionAllow:
		return nil
	case err != nil:
		return apierrors.NewInternalError(err)
	}
	return responsewriters.ForbiddenStatusError(create, reason)
}

// clusterRole returns the rules of a ClusterRole, none if there is no such role.
func (r rbac) clusterRole(name string) []rbacv1.PolicyRule {
	role, err := fake.Get[*rbacv1.ClusterRole](r.store, types.NamespacedName{Name: name})
	if err != nil {
		return nil
	}
	return role.Rules
}

func (r rbac) role(namespace, name string) []rbacv1.PolicyRule {
	role, err := fake.Get[*rbacv1.Role](r.store, types.NamespacedName{Namespace: namespace, Name: name})
	if err != nil {
		return nil
	}
	return role.Rules
}

// bound reports whether a user is among the subjects of a binding. namespace is the namespace of the
// binding, empty for a ClusterRoleBinding.
func bound(subjects []rbacv1.Subject, who user.Info, namespace string) bool {
	return slices.ContainsFunc(subjects, func(s rbacv1.Subject) bool {
		switch s.Kind {
		case rbacv1.UserKind:
			return s.Name == who.GetName()
		case rbacv1.GroupKind:
			return slices.Contains(who.GetGroups(), s.Name)
		case rbacv1.ServiceAccountKind:
			if s.Namespace == "" {
				s.Namespace = namespace
			}
			return s.Namespace != "" && serviceaccount.MatchesUsername(s.Namespace, s.Name, who.GetName())
		}
		return false
	})
}

// allows reports whether a rule allows a request.
func allows(rule rbacv1.PolicyRule, a authorizer.Attributes) bool {
	if !has(rule.Verbs, a.GetVerb()) {
		return false
	}
	if !a.IsResourceRequest() {
		return slices.ContainsFunc(rule.NonResourceURLs, func(url string) bool {
			start, prefix := strings.CutSuffix(url, "*")
			return url == a.GetPath() || prefix && strings.HasPrefix(a.GetPath(), start)
		})
	}
	return has(rule.APIGroups, a.GetAPIGroup()) && hasResource(rule.Resources, a.GetResource(), a.GetSubresource()) &&
		(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, a.GetName()))
}

// has reports whether names contains name, or * for all.
func has(names []string, name string) bool {
	return slices.Contains(names, "*") || slices.Contains(names, name)
}

func hasResource(names []string, resource, subresource string) bool {
	if subresource == "" {
		return has(names, resource)
	}
	return has(names, resource+"/"+subresource) || slices.Contains(names, "*/"+subresource)
}

// createRoles creates the roles of all users: they allow discovery, and reviews of one's own
// rights.
func createRoles(store *fake.Server) error {
	discovery := []string{"/healthz", "/livez", "/readyz", "/version", "/version/", "/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*"}
	reviews := []string{"selfsubjectaccessreviews", "selfsubjectrulesreviews"}
	everybody := user.AllAuthenticated
	return errors.Join(
		createRole(store, "cluster-admin", []string{user.SystemPrivilegedGroup},
			rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}},
			rbacv1.PolicyRule{NonResourceURLs: []string{"*"}, Verbs: []string{"*"}}),
		createRole(store, "system:discovery", []string{everybody},
			rbacv1.PolicyRule{NonResourceURLs: discovery, Verbs: []string{"get"}}),
		createRole(store, "system:basic-user", []string{everybody},
			rbacv1.PolicyRule{APIGroups: []string{"authorization.k8s.io"}, Resources: reviews, Verbs: []string{"create"}},
			rbacv1.PolicyRule{APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"selfsubjectreviews"}, Verbs: []string{"create"}}),
		createRole(store, "system:public-info-viewer", []string{everybody, user.AllUnauthenticated},
			rbacv1.PolicyRule{NonResourceURLs: []string{"/healthz", "/livez", "/readyz", "/version", "/version/"}, Verbs: []string{"get"}}),
	)
}

// createRole creates a ClusterRole and binds groups to it.
func createRole(store *fake.Server, name string, groups []string, rules ...rbacv1.PolicyRule) error {
	labels := map[string]string{"kubernetes.io/bootstrapping": "rbac-defaults"}
	meta := metav1.ObjectMeta{Name: name, Labels: labels}
	_, err := fake.Create(store, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules})
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}}
	for _, g := range groups {
		binding.Subjects = append(binding.Subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: g})
	}
	_, bindErr := fake.Create(store, binding)
	return errors.Join(err, bindErr)
}
