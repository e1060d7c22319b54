package fake

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// bodyFormat returns the format of a request's body, by its Content-Type; none at all
// means JSON. protobuf says whether the type that will be read has it.
func bodyFormat(r *http.Request, protobuf bool) (string, error) {
	want := []string{jsonType, yamlType}
	if protobuf {
		want = append(want, protobufType)
	}
	header := r.Header.Get("Content-Type")
	if header == "" {
		return jsonType, nil
	}
	kind, _, err := mime.ParseMediaType(header)
	if err == nil {
		for _, w := range want {
			if kind == w {
				return kind, nil
			}
		}
	}
	return "", errUnsupportedMedia(jsonType, yamlType, protobufType)
}

// decodeBody reads a body in one of the formats of bodyFormat into obj. check judges the
// kind that the body states before anything else of it is read.
func decodeBody(format string, body []byte, obj any, check func(metav1.TypeMeta) error) error {
	if format == protobufType {
		kind, raw, err := openEnvelope(body)
		if err != nil {
			return err
		}
		if err := check(kind); err != nil {
			return err
		}
		return decodeProtobuf(raw, obj)
	}
	if format == yamlType {
		var err error
		if body, err = yamlToJSON(body); err != nil {
			return kindError{err}
		}
	}
	// Its error names the type, which is this one in the API server.
	var kind struct {
		APIVersion string `json:"apiVersion,omitempty"`
		Kind       string `json:"kind,omitempty"`
	}
	if err := json.Unmarshal(body, &kind); err != nil {
		return kindError{err}
	}
	if err := check(metav1.TypeMeta{APIVersion: kind.APIVersion, Kind: kind.Kind}); err != nil {
		return err
	}
	return decode(body, obj)
}

// yamlToJSON keeps integers exact. What begins with a brace is taken for JSON by
// yaml.ToJSON, and may yet be a mapping in the flow style of YAML.
func yamlToJSON(data []byte) ([]byte, error) {
	b, err := yaml.ToJSON(data)
	if err != nil || len(b) == 0 || json.Valid(b) {
		return b, err
	}
	var v any
	if err := yaml.Unmarshal(data, &v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// kindError says that a body does not even state a kind.
type kindError struct{ error }

// decodeObject reads a whole object, whose kind is known when the body leaves it out.
func (t *table[T]) decodeObject(format string, body []byte, obj T) error {
	var wrong error
	err := decodeBody(format, body, obj, func(kind metav1.TypeMeta) error {
		wrong = t.res.checkKind(kind.GroupVersionKind())
		return wrong
	})
	var none kindError
	switch {
	case wrong != nil:
		return wrong
	case errors.As(err, &none):
		return errNoKind(&t.res, none.error, body)
	case err != nil:
		return badBody(&t.res, err)
	}
	if k, ok := any(obj).(interface{ GetObjectKind() schema.ObjectKind }); ok && format == protobufType {
		k.GetObjectKind().SetGroupVersionKind(t.res.GroupVersionKind())
	}
	return nil
}

// readDeleteOptions reads the optional body of a delete.
func readDeleteOptions(r *http.Request, body []byte, opts *metav1.DeleteOptions) error {
	if len(body) == 0 {
		return nil
	}
	format, err := bodyFormat(r, true)
	if err != nil {
		return err
	}
	err = decodeBody(format, body, opts, func(kind metav1.TypeMeta) error {
		if kind.Kind != "" && kind.Kind != "DeleteOptions" {
			return fmt.Errorf("unable to decode %q as DeleteOptions", kind.Kind)
		}
		return nil
	})
	var none kindError
	switch {
	case errors.As(err, &none):
		return apierrors.NewBadRequest("couldn't get version/kind; json parse error: " + none.Error())
	case err != nil:
		return apierrors.NewBadRequest(err.Error())
	}
	return nil
}
