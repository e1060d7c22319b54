// Package wire knows the forms in which Kubernetes objects travel over HTTP: media types and
// their negotiation, the protobuf envelope, and the bodies of requests.
package wire

import (
	"mime"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake/internal/refusal"
)

// The media types of bodies.
const (
	JSON     = "application/json"
	YAML     = "application/yaml"
	Protobuf = "application/vnd.kubernetes.protobuf"
)

// Form is a form in which objects can be sent.
type Form int

// The forms.
const (
	Whole   Form = iota
	Partial      // PartialObjectMetadata: only the metadata
	Table        // the rows that kubectl prints
)

// Media is the agreed form of an answer's body. The zero value is whole objects in JSON.
type Media struct {
	Form     Form
	Protobuf bool
	// Include says how much of its object each row of a Table carries.
	Include metav1.IncludeObjectPolicy
}

// ContentType is the media type of a single object or list.
func (m Media) ContentType() string {
	if m.Protobuf {
		return Protobuf
	}
	return JSON
}

// WatchType is the media type of a watch.
func (m Media) WatchType() string {
	if m.Protobuf {
		return Protobuf + ";stream=watch"
	}
	return JSON
}

// Negotiate picks the first form in r's Accept headers that the server can send. It goes by
// order and not by weight, because API clients list their choices in order. protobuf says
// whether whole objects have a protobuf form. Status errors: NotAcceptable, BadRequest.
func Negotiate(r *http.Request, protobuf bool) (Media, error) {
	asked := false
	for _, header := range r.Header.Values("Accept") {
		for option := range strings.SplitSeq(header, ",") {
			if strings.TrimSpace(option) == "" {
				continue
			}
			asked = true
			if m, ok := offer(option, protobuf); ok {
				return m.withInclude(r)
			}
		}
	}
	if asked {
		return Media{}, refusal.NotAcceptable(JSON, Protobuf)
	}
	return Media{}, nil
}

// offer reports whether the server can send the form of one option of an Accept header.
func offer(option string, protobuf bool) (m Media, ok bool) {
	kind, params, err := mime.ParseMediaType(option)
	if err != nil {
		return m, false
	}
	switch kind {
	case JSON, "application/*", "*/*":
	case Protobuf:
		m.Protobuf = true
	default:
		return m, false
	}
	switch as := params["as"]; {
	case as == "":
		return m, !m.Protobuf || protobuf
	case params["g"] != metav1.GroupName || params["v"] != "v1":
		return m, false
	case as == "PartialObjectMetadata" || as == "PartialObjectMetadataList":
		m.Form = Partial
		return m, true
	case as == "Table":
		m.Form = Table
		return m, !m.Protobuf // a cell holds any JSON, so a Table has no protobuf form
	}
	return m, false
}

func (m Media) withInclude(r *http.Request) (Media, error) {
	if m.Form != Table {
		return m, nil
	}
	switch policy := metav1.IncludeObjectPolicy(r.URL.Query().Get("includeObject")); policy {
	case "":
		m.Include = metav1.IncludeMetadata
	case metav1.IncludeNone, metav1.IncludeMetadata, metav1.IncludeObject:
		m.Include = policy
	default:
		return m, refusal.TableInclude(policy)
	}
	return m, nil
}
