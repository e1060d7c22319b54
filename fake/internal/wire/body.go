package wire

import (
	"encoding/json"
	"mime"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/kinform/kinform/fake/internal/refusal"
)

// BodyFormat returns the media type of a request's body: JSON if it states none. protobuf says
// whether the type to be read has a protobuf form. Status error: UnsupportedMediaType.
func BodyFormat(r *http.Request, protobuf bool) (string, error) {
	want := []string{JSON, YAML}
	if protobuf {
		want = append(want, Protobuf)
	}
	header := r.Header.Get("Content-Type")
	if header == "" {
		return JSON, nil
	}
	kind, _, err := mime.ParseMediaType(header)
	if err == nil {
		for _, w := range want {
			if kind == w {
				return kind, nil
			}
		}
	}
	return "", refusal.UnsupportedMedia(JSON, YAML, Protobuf)
}

// Unmarshal reads a body in a format that [BodyFormat] returned into obj. It first calls check
// with the kind that the body states, and returns check's error. Errors: [KindError] for a body
// that does not state a kind at all, [YAMLError].
func Unmarshal(format string, body []byte, obj any, check func(metav1.TypeMeta) error) error {
	if format == Protobuf {
		kind, raw, err := OpenEnvelope(body)
		if err != nil {
			return err
		}
		if err := check(kind); err != nil {
			return err
		}
		return UnmarshalProtobuf(raw, obj)
	}
	if format == YAML {
		var err error
		if body, err = YAMLToJSON(body); err != nil {
			return YAMLError{err}
		}
	}
	// The error names this type in the API server as well.
	var kind struct {
		APIVersion string `json:"apiVersion,omitempty"`
		Kind       string `json:"kind,omitempty"`
	}
	if err := json.Unmarshal(body, &kind); err != nil {
		return KindError{err}
	}
	if err := check(metav1.TypeMeta{APIVersion: kind.APIVersion, Kind: kind.Kind}); err != nil {
		return err
	}
	return UnmarshalJSON(body, obj)
}

// YAMLToJSON converts YAML or JSON to JSON and keeps integers exact. yaml.ToJSON takes text that
// begins with a brace for JSON, though it may be YAML in flow style; YAMLToJSON reads both.
func YAMLToJSON(data []byte) ([]byte, error) {
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

// JSONToYAML converts JSON to YAML.
func JSONToYAML(data []byte) ([]byte, error) { return sigsyaml.JSONToYAML(data) }

// YAMLTwice returns an error for YAML or JSON that has a member of a map twice. It is the error of
// the API server's decoder.
func YAMLTwice(data []byte) error { return yaml.UnmarshalStrict(data, &map[string]any{}) }

// YAMLError says that a body is no YAML.
type YAMLError struct{ Err error }

func (e YAMLError) Error() string {
	return strings.TrimPrefix(e.Err.Error(), "error converting YAML to JSON: ")
}

// KindError says that a body is not an object that could state a kind.
type KindError struct{ Err error }

func (e KindError) Error() string { return e.Err.Error() }

// UnmarshalJSON reads JSON into obj by obj's own method, if it has one, and keeps integers exact,
// even in untyped fields. A panic of the method is an error.
func UnmarshalJSON(b []byte, obj any) (err error) {
	defer refusal.Recover(&err)
	if u, ok := obj.(json.Unmarshaler); ok {
		return u.UnmarshalJSON(b)
	}
	return utiljson.Unmarshal(b, obj)
}
