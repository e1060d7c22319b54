package oracle

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// pageSize is the number of objects per request of List.
const pageSize = 500

// Client sends requests to one server. Both fields are required.
type Client struct {
	// URL is the base of the API server, without a slash at its end.
	URL string
	// HTTP authenticates the requests.
	HTTP *http.Client
}

// Path returns the path of a resource of the core group: of one object, or of a collection if name
// is empty. If namespace is empty, the path is for all namespaces, or for a resource without
// namespaces. Path does not escape the names, because valid ones need no escape.
func Path(resource, namespace, name string) string {
	path := "/api/v1/"
	if namespace != "" {
		path += "namespaces/" + namespace + "/"
	}
	path += resource
	if name != "" {
		path += "/" + name
	}
	return path
}

// Do sends in as JSON, unless it is nil, and decodes the answer into out, unless that is nil. For
// an answer other than 2xx it returns an error that wraps an *errors.StatusError of apimachinery.
// If the body is no Status, the error is made from the HTTP status.
func (c *Client) Do(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("%s %s: %w", method, path, err)
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.URL+path, body)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Content-Type", contentType(method))
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("%s %s: %w", method, path, statusError(resp.StatusCode, method, data))
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}

func contentType(method string) string {
	if method == http.MethodPatch {
		return "application/merge-patch+json"
	}
	return "application/json"
}

func statusError(code int, method string, body []byte) error {
	var status metav1.Status
	if err := json.Unmarshal(body, &status); err == nil && status.Kind == "Status" {
		return &apierrors.StatusError{ErrStatus: status}
	}
	text := string(bytes.TrimSpace(body))
	err := apierrors.NewGenericServerResponse(code, method, schema.GroupResource{}, "", text, 0, true)
	return fmt.Errorf("%w: %q", err, text) // its message has the text for some codes only
}

// Create posts obj to the collection at path and returns the object as the server stored it.
func Create[T any](ctx context.Context, c *Client, path string, obj *T) (*T, error) {
	return exchange[T](ctx, c, http.MethodPost, path, obj)
}

// Update puts obj at path, which is the path of the object, and returns the object as the server
// stored it. If obj has another resource version than the object, the server answers with a
// conflict. An empty version matches any.
func Update[T any](ctx context.Context, c *Client, path string, obj *T) (*T, error) {
	return exchange[T](ctx, c, http.MethodPut, path, obj)
}

// Get returns the object at path.
func Get[T any](ctx context.Context, c *Client, path string) (*T, error) {
	return exchange[T](ctx, c, http.MethodGet, path, nil)
}

// Patch merges patch into the object at path (RFC 7386) and returns the result. patch is any value
// with a JSON form.
func Patch[T any](ctx context.Context, c *Client, path string, patch any) (*T, error) {
	return exchange[T](ctx, c, http.MethodPatch, path, patch)
}

func exchange[T any](ctx context.Context, c *Client, method, path string, in any) (*T, error) {
	out := new(T)
	if err := c.Do(ctx, method, path, in, out); err != nil {
		return nil, err
	}
	return out, nil
}

// Delete removes the object at path at once. It asks for a grace period of zero. Otherwise a pod
// with a node name would stay, because there is no kubelet that ends its deletion. Namespaces stay
// in termination nevertheless.
func (c *Client) Delete(ctx context.Context, path string) error {
	return c.Do(ctx, http.MethodDelete, path, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}, nil)
}

// List returns all objects of the collection at path that opts selects, and their resource version.
// It reads pages of 500 unless opts has its own limit, each from etcd's state at that one version.
func List[T any](ctx context.Context, c *Client, path string, opts metav1.ListOptions) ([]T, string, error) {
	if opts.Limit == 0 {
		opts.Limit = pageSize
	}
	var all []T
	for {
		var page struct {
			metav1.ListMeta `json:"metadata"`
			Items           []T `json:"items"`
		}
		if err := c.Do(ctx, http.MethodGet, path+"?"+query(opts).Encode(), nil, &page); err != nil {
			return nil, "", err
		}
		all = append(all, page.Items...)
		if page.Continue == "" {
			return all, page.ResourceVersion, nil
		}
		// Later pages have the version of the first one, which is in the token.
		opts.Continue, opts.ResourceVersion, opts.ResourceVersionMatch = page.Continue, "", ""
	}
}

func query(opts metav1.ListOptions) url.Values {
	q := url.Values{}
	set := func(key, value string) {
		if value != "" {
			q.Set(key, value)
		}
	}
	set("limit", fmt.Sprint(opts.Limit))
	set("continue", opts.Continue)
	set("labelSelector", opts.LabelSelector)
	set("fieldSelector", opts.FieldSelector)
	set("resourceVersion", opts.ResourceVersion)
	set("resourceVersionMatch", string(opts.ResourceVersionMatch))
	return q
}
