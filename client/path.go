package client

import (
	"errors"
	"fmt"
	"net/url"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion/queryparams"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/internal/mistake"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
)

// root returns the address of a group and version, which the addresses of all their objects begin with.
func (e endpoint) root(of schema.GroupVersion) *url.URL {
	if of.Group == "" {
		return e.base.JoinPath("api", of.Version)
	}
	return e.base.JoinPath("apis", of.Group, of.Version)
}

// address returns the address of an object, or of the collection if no name is given. The caller
// has checked the parts of the path: none contains a slash or a percent sign.
// (https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-uris)
func address(r *resource, c *call) *url.URL {
	u := *r.root
	path := append(make([]byte, 0, 128), u.Path...)
	if c.key.Namespace != "" {
		path = append(append(path, "/namespaces/"...), c.key.Namespace...)
	}
	path = append(append(path, '/'), r.gvr.Resource...)
	if c.key.Name != "" {
		path = append(append(path, '/'), c.key.Name...)
	}
	for _, part := range c.subresource {
		path = append(append(path, '/'), part...)
	}
	end := len(u.Path)
	u.Path = string(path)
	u.RawPath = u.Path // used if it is a valid encoding
	if root := r.root.EscapedPath(); root != r.root.Path {
		u.RawPath = root + u.Path[end:]
	}
	u.RawQuery = c.query.Encode()
	return &u
}

// completeKey returns key with the namespace of the Options if it has none.
func completeKey(r *resource, key types.NamespacedName) (types.NamespacedName, error) {
	if key.Namespace == "" {
		key.Namespace = r.options.Namespace
	}
	if r.options.Namespace != "" && key.Namespace != r.options.Namespace {
		return key, fmt.Errorf("namespace %q is not the client's own", key.Namespace)
	}
	switch {
	case r.kind.Scope == kind.ClusterScoped && key.Namespace != "":
		return key, fmt.Errorf("%w: namespace %q, but the kind is cluster-scoped: leave the namespace out, or remove Cluster() from the kind", mistake.Scope, key.Namespace)
	case r.kind.Scope == kind.Namespaced && key.Namespace == "":
		return key, fmt.Errorf("%w: no namespace, in the object, the key or Options.Namespace; if the kind has none, add .Cluster() to it", mistake.Scope)
	}
	if err := checkSegment(key.Namespace); err != nil {
		return key, err
	}
	return key, checkSegment(key.Name)
}

// objectKey checks the key of a call that needs a name.
func objectKey(r *resource, key types.NamespacedName) (types.NamespacedName, error) {
	if key.Name == "" {
		return key, reflector.ErrNoName
	}
	return completeKey(r, key)
}

func checkSubresource(names []string) error {
	for _, name := range names {
		if name == "" {
			return errors.New("a subresource without a name")
		}
		if err := checkSegment(name); err != nil {
			return err
		}
	}
	return nil
}

// selection turns opts into a query, narrowed by the selectors of the Options.
func selection(r *resource, opts *metav1.ListOptions, watch bool) (url.Values, error) {
	narrowed := *opts
	narrowed.Watch = watch
	narrowed.LabelSelector = bothSelectors(r.options.LabelSelector, opts.LabelSelector)
	narrowed.FieldSelector = bothSelectors(r.options.FieldSelector, opts.FieldSelector)
	return queryparams.Convert(&narrowed)
}

// bothSelectors joins two selectors so that both have to match.
func bothSelectors(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "," + b
}
