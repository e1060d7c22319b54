package oracle

import (
	"context"
	"fmt"
	"net/http"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	rolesPath    = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
	bindingsPath = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
	flowsPath    = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"
	levelsPath   = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations"
)

// GrantReading gives a user the right to get, list and watch everything. The server takes a moment
// to apply it, see [Client.Answers]. GrantReading fails if the user has the right already.
func GrantReading(ctx context.Context, c *Client, user string) error {
	name := metav1.ObjectMeta{Name: user + "-reads"}
	role := &rbacv1.ClusterRole{ObjectMeta: name, Rules: everything("get", "list", "watch")}
	if _, err := Create(ctx, c, rolesPath, role); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: name,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	}
	_, err := Create(ctx, c, bindingsPath, binding)
	return err
}

func everything(verbs ...string) []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: verbs}}
}

// LimitReading leaves the user of GrantReading the given verbs. All three give the whole right back.
// Open watches go on. The server takes a moment to apply it.
func LimitReading(ctx context.Context, c *Client, user string, verbs ...string) error {
	_, err := Patch[metav1.PartialObjectMetadata](ctx, c, rolesPath+"/"+user+"-reads", map[string]any{"rules": everything(verbs...)})
	return err
}

// ServiceAccount creates a service account and a role with the same name and with the rules, both
// in one namespace. It returns a token of the account. The server takes a moment to apply the role,
// see [Client.Answers].
func ServiceAccount(ctx context.Context, c *Client, namespace, name string, rules ...rbacv1.PolicyRule) (token string, err error) {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	if _, err := Create(ctx, c, Path("serviceaccounts", namespace, ""), &corev1.ServiceAccount{ObjectMeta: meta}); err != nil {
		return "", err
	}
	if err := Allow(ctx, c, meta, name, rules...); err != nil {
		return "", err
	}
	return Token(ctx, c, namespace, name)
}

// Allow creates a role with the rules, and gives it to a service account of its namespace.
func Allow(ctx context.Context, c *Client, role metav1.ObjectMeta, account string, rules ...rbacv1.PolicyRule) error {
	group := "/apis/rbac.authorization.k8s.io/v1/namespaces/" + role.Namespace
	if _, err := Create(ctx, c, group+"/roles", &rbacv1.Role{ObjectMeta: role, Rules: rules}); err != nil {
		return err
	}
	_, err := Create(ctx, c, group+"/rolebindings", &rbacv1.RoleBinding{
		ObjectMeta: role,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: role.Namespace, Name: account}},
	})
	return err
}

// Token returns a token of a service account.
func Token(ctx context.Context, c *Client, namespace, account string) (string, error) {
	request, err := Create(ctx, c, Path("serviceaccounts", namespace, account)+"/token", &authenticationv1.TokenRequest{})
	if err != nil {
		return "", err
	}
	return request.Status.Token, nil
}

// RevokeReading takes away the right of GrantReading. Open watches go on.
func RevokeReading(ctx context.Context, c *Client, user string) error {
	return c.Delete(ctx, bindingsPath+"/"+user+"-reads")
}

// Throttle makes the server answer 429 to a user's requests beyond a share of its seats, by
// priority and fairness. With a share of 0 the server refuses requests that come at the same time,
// but may serve a single one. Open watches go on. The server takes a moment to apply it.
func Throttle(ctx context.Context, c *Client, user string, share int) error {
	all := []string{"*"}
	name := map[string]any{"name": user}
	level := map[string]any{"metadata": name, "spec": map[string]any{"type": "Limited", "limited": map[string]any{
		"nominalConcurrencyShares": share, "lendablePercent": 0, "borrowingLimitPercent": 0, "limitResponse": map[string]any{"type": "Reject"},
	}}}
	if _, err := Create(ctx, c, levelsPath, &level); err != nil {
		return err
	}
	flow := map[string]any{"metadata": name, "spec": map[string]any{
		"priorityLevelConfiguration": name, "matchingPrecedence": 2,
		"rules": []any{map[string]any{
			"subjects":      []any{map[string]any{"kind": "User", "user": name}},
			"resourceRules": []any{map[string]any{"verbs": all, "apiGroups": all, "resources": all, "clusterScope": true, "namespaces": all}},
		}},
	}}
	_, err := Create(ctx, c, flowsPath, &flow)
	return err
}

// Unthrottle ends Throttle.
func Unthrottle(ctx context.Context, c *Client, user string) error {
	if err := c.Delete(ctx, flowsPath+"/"+user); err != nil {
		return err
	}
	return c.Delete(ctx, levelsPath+"/"+user)
}

// Answers waits until the server answers a GET of path with the status code.
func (c *Client) Answers(ctx context.Context, path string, code int) error {
	return Until(ctx, func() error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL+path, nil)
		if err != nil {
			return err
		}
		resp, err := c.HTTP.Do(req)
		if err != nil {
			return err
		}
		_ = resp.Body.Close()
		if resp.StatusCode != code {
			return fmt.Errorf("GET %s: %s", path, resp.Status)
		}
		return nil
	})
}

// Until calls try every 5 ms until it returns nil. When ctx ends, Until returns the error of ctx
// joined with the last one of try.
func Until(ctx context.Context, try func() error) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}
