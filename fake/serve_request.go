package fake

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake/internal/answer"
	"github.com/kinform/kinform/fake/internal/refusal"
	"github.com/kinform/kinform/fake/internal/wire"
)

// parsedRequest is the meaning of a URL.
type parsedRequest struct {
	resource  schema.GroupVersionResource
	namespace string
	name      string // empty for the collection

	subresource string
	watch       bool // the path itself asks for a watch, in the old way

	warn func(text string) // adds a warning to the answer

	// made is the key of the object that a create makes, for Options.Seen; nil without Seen.
	made *types.NamespacedName
}

func (req parsedRequest) key() types.NamespacedName {
	return types.NamespacedName{Namespace: req.namespace, Name: req.name}
}

// creates keeps the key of obj, which a create makes or has made.
func (req parsedRequest) creates(obj metav1.Object) {
	if req.made != nil {
		*req.made = keyFrom(obj)
	}
}

// converter reads options from a query.
type converter[O any] = func(*url.Values, *O, conversion.Scope) error

// readQuery reads the options in a request's query.
func readQuery[O any](r *http.Request, convert converter[O]) (opts O, err error) {
	query := r.URL.Query()
	if err := convert(&query, &opts, nil); err != nil {
		return opts, apierrors.NewBadRequest(err.Error())
	}
	return opts, nil
}

// parseRequest reads the path after the version:
// [watch/][namespaces/NS/]RESOURCE[/NAME[/SUBRESOURCE]]. The word namespaces is also a resource:
// two parts name one namespace.
func parseRequest(gv schema.GroupVersion, parts []string) (req parsedRequest, err error) {
	for _, p := range parts {
		if p == "" {
			return req, answer.ErrNoPath
		}
	}
	if parts[0] == "watch" && len(parts) > 1 {
		req.watch, parts = true, parts[1:]
	}
	if parts[0] == "namespaces" && len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
		req.namespace, parts = parts[1], parts[2:]
	}
	req.resource = gv.WithResource(parts[0])
	switch len(parts) {
	case 1:
		return req, nil
	case 2:
		req.name = parts[1]
		return req, nil
	case 3:
		if req.watch {
			break
		}
		req.name, req.subresource = parts[1], parts[2]
		return req, nil
	}
	return req, refusal.NoResource()
}

// maxBody is the API server's limit for the bytes of a body.
const maxBody = 3 << 20

func readBody(r *http.Request) ([]byte, error) {
	b, err := io.ReadAll(r.Body)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", maxBody))
	case err != nil:
		return nil, apierrors.NewBadRequest(fmt.Sprintf("reading the body: %v", err))
	}
	return b, nil
}

// readDeleteOptions reads the optional body of a delete.
func readDeleteOptions(r *http.Request, body []byte, opts *metav1.DeleteOptions) error {
	if len(body) == 0 {
		return nil
	}
	format, err := wire.BodyFormat(r, true)
	if err != nil {
		return err
	}
	err = wire.Unmarshal(format, body, opts, func(kind metav1.TypeMeta) error {
		if kind.Kind != "" && kind.Kind != "DeleteOptions" {
			return errors.New(notRegistered(kind.Kind, cmp.Or(kind.APIVersion, metav1.SchemeGroupVersion.String())))
		}
		return nil
	})
	var none wire.KindError
	switch {
	case errors.As(err, &none):
		return apierrors.NewBadRequest("couldn't get version/kind; json parse error: " + none.Error())
	case err != nil:
		return apierrors.NewBadRequest(err.Error())
	}
	return nil
}
