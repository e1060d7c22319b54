// Package wire knows the forms in which Kubernetes objects travel over HTTP: media types and
// their negotiation, the protobuf envelope, and the bodies of requests.
package wire

import (
	"cmp"
	"mime"
	"net/http"
	"slices"
	"strconv"
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
	// YAML is made of the JSON when that is sent.
	YAML bool
	// Lean leaves out metadata.managedFields.
	Lean bool
	// Include says how much of its object each row of a Table carries.
	Include metav1.IncludeObjectPolicy
}

// ContentType is the media type of a single object or list.
func (m Media) ContentType() string {
	switch {
	case m.Protobuf:
		return Protobuf
	case m.YAML:
		return YAML
	}
	return JSON
}

// WatchType is the media type of a watch.
func (m Media) WatchType() string {
	if m.Protobuf {
		return Protobuf + stream
	}
	return JSON
}

const stream = ";stream=watch"

// Offer lists the encodings in which the server can answer a request.
type Offer struct {
	// Protobuf says that whole objects have a protobuf form.
	Protobuf bool
	// Custom says that the resource is a custom one, whose refusals have other words.
	Custom bool
	// Lean says that managed fields can be left out. If not, the server does not know the parameter for it.
	Lean bool
	// Collection says that the path is also the path of watches, and Watch that this is one.
	Collection, Watch bool
}

// Negotiate picks the form that r's Accept headers like best among those that the server can send.
// Status errors: NotAcceptable, BadRequest.
func (o Offer) Negotiate(r *http.Request) (Media, error) {
	asked, known := false, false
	for _, header := range byWeight(r.Header["Accept"]) {
		for option := range strings.SplitSeq(header, ",") {
			if strings.TrimSpace(option) == "" {
				continue
			}
			asked = true
			m, is, ok := o.offer(option)
			known = known || is
			if ok && o.Watch && m.YAML {
				return Media{}, refusal.NotAccepted(JSON+stream, Protobuf+stream)
			}
			if ok {
				return m.withInclude(r)
			}
		}
	}
	switch {
	case !asked:
		return Media{}, nil
	case known || o.Custom:
		return Media{}, refusal.NotAccepted(JSON, YAML, Protobuf)
	case o.Collection:
		return Media{}, refusal.NotAcceptable(JSON, YAML, Protobuf, JSON+stream, Protobuf+stream)
	}
	return Media{}, refusal.NotAcceptable(JSON, YAML, Protobuf)
}

// byWeight returns Accept headers with their options in the order of their weights.
func byWeight(accept []string) []string {
	if !strings.Contains(strings.Join(accept, ","), "q=") {
		return accept
	}
	all := strings.Split(strings.Join(accept, ","), ",")
	weight := func(option string) float64 {
		_, params, _ := mime.ParseMediaType(option)
		if q, err := strconv.ParseFloat(params["q"], 64); err == nil {
			return q
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b string) int { return cmp.Compare(weight(b), weight(a)) })
	return all
}

// offer reports whether an option of an Accept header is of a known media type, and whether the
// server can send its form.
func (o Offer) offer(option string) (m Media, known, ok bool) {
	kind, params, err := mime.ParseMediaType(option)
	if err != nil {
		return m, false, false
	}
	switch kind {
	case JSON, "*/*":
	case "application/*":
		if !o.Custom {
			return m, false, false // the API server's first look, at Kubernetes' own kinds, does not know it
		}
	case YAML:
		m.YAML = true
	case Protobuf:
		m.Protobuf = true
	default:
		return m, false, false
	}
	if drop := params["drop"]; o.Lean && drop != "" {
		if m.Lean = drop == "metadata.managedFields"; !m.Lean {
			return m, true, false
		}
	}
	switch as := params["as"]; {
	case as == "" && params["g"] == "" && params["v"] == "":
		return m, true, !m.Protobuf || o.Protobuf
	case params["g"] != metav1.GroupName || params["v"] != "v1":
		return m, true, false
	case as == "PartialObjectMetadata" || as == "PartialObjectMetadataList":
		m.Form = Partial
		return m, true, true
	case as == "Table":
		m.Form = Table
		return m, true, !m.Protobuf // a cell holds any JSON, so a Table has no protobuf form
	}
	return m, true, false
}

// PrefersYAML reports whether the first form in Accept headers that a Status can have is YAML.
func PrefersYAML(accept []string) bool {
	for _, header := range byWeight(accept) {
		for option := range strings.SplitSeq(header, ",") {
			if m, _, ok := (Offer{Protobuf: true}).offer(option); ok {
				return m.YAML
			}
		}
	}
	return false
}

// Preferred returns the first of offered that Accept headers name, by their media types alone, or
// the first of offered if they name none or any. It reports false if they name only others.
func Preferred(accept []string, offered ...string) (string, bool) {
	for _, header := range byWeight(accept) {
		for option := range strings.SplitSeq(header, ",") {
			kind, _, _ := mime.ParseMediaType(option)
			switch {
			case kind == "*/*":
				return offered[0], true
			case slices.Contains(offered, kind):
				return kind, true
			}
		}
	}
	return offered[0], strings.TrimSpace(strings.Join(accept, "")) == ""
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
