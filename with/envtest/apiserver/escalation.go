package apiserver

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/component-helpers/auth/rbac/validation"

	"github.com/kinform/kinform/fake"
)

// noEscalation refuses a role or a binding by which a user would grant rights that the user does
// not have, unless the user may escalate or bind
// (https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping).
func (r rbac) noEscalation(ctx context.Context, a *fake.Admission) error {
	who, ok := request.UserFrom(ctx)
	if !ok || a.Object == nil || a.Subresource != "" || slices.Contains(who.GetGroups(), user.SystemPrivilegedGroup) {
		return nil
	}
	granted, verb, name := r.granted(a)
	if verb == "" {
		return nil
	}
	right := authorizer.AttributesRecord{
		User: who, Verb: verb, Namespace: a.Key.Namespace, Name: name, ResourceRequest: true,
		APIGroup: rbacv1.GroupName, APIVersion: "v1", Resource: a.Resource.Resource,
	}
	if ref := roleOf(a); ref != nil {
		right.Resource = strings.ToLower(ref.Kind) + "s"
	}
	if decision, _, _ := r.Authorize(ctx, right); decision == authorizer.DecisionAllow {
		return nil
	}
	var own []rbacv1.PolicyRule
	for rules := range r.rulesOf(who, a.Key.Namespace) {
		own = append(own, rules...)
	}
	covered, missing := validation.Covers(own, granted)
	if covered {
		return nil
	}
	return apierrors.NewForbidden(schema.GroupResource{Group: a.Resource.Group, Resource: a.Resource.Resource}, a.Key.Name,
		fmt.Errorf("user %q (groups=%q) is attempting to grant RBAC permissions not currently held:\n%s", who.GetName(), who.GetGroups(), describeRules(missing)))
}

// granted returns the rules that a write grants, the verb that allows it anyway, and the name of
// the role; no verb if it grants nothing new.
func (r rbac) granted(a *fake.Admission) (rules []rbacv1.PolicyRule, verb, role string) {
	everything := []rbacv1.PolicyRule{
		{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}},
		{NonResourceURLs: []string{"*"}, Verbs: []string{"*"}},
	}
	switch now := a.Object.(type) {
	case *rbacv1.Role:
		if old, ok := a.Old.(*rbacv1.Role); !ok || !reflect.DeepEqual(old.Rules, now.Rules) {
			return now.Rules, "escalate", now.Name
		}
	case *rbacv1.ClusterRole:
		old, ok := a.Old.(*rbacv1.ClusterRole)
		switch {
		case ok && reflect.DeepEqual(old.Rules, now.Rules) && reflect.DeepEqual(old.AggregationRule, now.AggregationRule):
		case now.AggregationRule != nil:
			return everything, "escalate", now.Name
		default:
			return now.Rules, "escalate", now.Name
		}
	case *rbacv1.RoleBinding:
		if old, ok := a.Old.(*rbacv1.RoleBinding); ok && reflect.DeepEqual(old.Subjects, now.Subjects) && old.RoleRef == now.RoleRef {
			return nil, "", ""
		}
		if now.RoleRef.Kind == "ClusterRole" {
			return r.clusterRole(now.RoleRef.Name), "bind", now.RoleRef.Name
		}
		return r.role(now.Namespace, now.RoleRef.Name), "bind", now.RoleRef.Name
	case *rbacv1.ClusterRoleBinding:
		if old, ok := a.Old.(*rbacv1.ClusterRoleBinding); !ok || !reflect.DeepEqual(old.Subjects, now.Subjects) || old.RoleRef != now.RoleRef {
			return r.clusterRole(now.RoleRef.Name), "bind", now.RoleRef.Name
		}
	}
	return nil, "", ""
}

// roleOf returns the role of a binding, nil for other objects.
func roleOf(a *fake.Admission) *rbacv1.RoleRef {
	switch now := a.Object.(type) {
	case *rbacv1.RoleBinding:
		return &now.RoleRef
	case *rbacv1.ClusterRoleBinding:
		return &now.RoleRef
	}
	return nil
}

// describeRules returns a line for each rule. Rules that differ in the verb alone are one.
func describeRules(rules []rbacv1.PolicyRule) string {
	var merged []rbacv1.PolicyRule
	for _, r := range rules {
		i := slices.IndexFunc(merged, func(m rbacv1.PolicyRule) bool {
			m.Verbs = r.Verbs
			return reflect.DeepEqual(m, r)
		})
		if i < 0 {
			merged = append(merged, r)
			continue
		}
		merged[i].Verbs = append(slices.Clone(merged[i].Verbs), r.Verbs...)
	}
	var lines []string
	for _, r := range merged {
		var parts []string
		for _, part := range []struct {
			name   string
			values []string
		}{{"APIGroups", r.APIGroups}, {"Resources", r.Resources}, {"NonResourceURLs", r.NonResourceURLs}, {"ResourceNames", r.ResourceNames}, {"Verbs", r.Verbs}} {
			if len(part.values) > 0 {
				quoted := fmt.Sprintf("%q", part.values)
				parts = append(parts, part.name+":"+strings.ReplaceAll(quoted, `" "`, `", "`))
			}
		}
		lines = append(lines, "{"+strings.Join(parts, ", ")+"}")
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
