package fake

import (
	"encoding/json"
	"mime"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	jsonType     = "application/json"
	yamlType     = "application/yaml"
	protobufType = "application/vnd.kubernetes.protobuf"
)

// mediaForm is a form in which objects can be sent.
type mediaForm int

const (
	mediaWhole   mediaForm = iota
	mediaPartial           // PartialObjectMetadata: metadata alone
	mediaTable             // Table: what kubectl prints
)

// media is what the two sides agreed on for the body of an answer.
type media struct {
	form     mediaForm
	protobuf bool
	// include says what the rows of a Table carry of their objects.
	include metav1.IncludeObjectPolicy
}

// contentType is that of a single object or list; a watch in protobuf has another.
func (m media) contentType() string {
	if m.protobuf {
		return protobufType
	}
	return jsonType
}

func (m media) watchType() string {
	if m.protobuf {
		return protobufType + ";stream=watch"
	}
	return jsonType
}

// negotiate picks the first form in the Accept headers that the server can send, by
// order and not by weight, as API clients list them.
func (t *table[T]) negotiate(r *http.Request) (media, error) {
	asked := false
	for _, header := range r.Header.Values("Accept") {
		for option := range strings.SplitSeq(header, ",") {
			if strings.TrimSpace(option) == "" {
				continue
			}
			asked = true
			if m, ok := t.offer(option); ok {
				return m.withInclude(r)
			}
		}
	}
	if asked {
		return media{}, errNotAcceptable()
	}
	return media{}, nil
}

// offer reports whether one option of an Accept header can be met.
func (t *table[T]) offer(option string) (m media, ok bool) {
	kind, params, err := mime.ParseMediaType(option)
	if err != nil {
		return m, false
	}
	switch kind {
	case jsonType, "application/*", "*/*":
	case protobufType:
		m.protobuf = true
	default:
		return m, false
	}
	switch as := params["as"]; {
	case as == "":
		return m, !m.protobuf || t.protobuf
	case params["g"] != metav1.GroupName || params["v"] != "v1":
		return m, false
	case as == "PartialObjectMetadata" || as == "PartialObjectMetadataList":
		m.form = mediaPartial
		return m, true
	case as == "Table":
		m.form = mediaTable
		return m, !m.protobuf // cells are of any JSON type, which has no protobuf
	}
	return m, false
}

func (m media) withInclude(r *http.Request) (media, error) {
	if m.form != mediaTable {
		return m, nil
	}
	switch policy := metav1.IncludeObjectPolicy(r.URL.Query().Get("includeObject")); policy {
	case "":
		m.include = metav1.IncludeMetadata
	case metav1.IncludeNone, metav1.IncludeMetadata, metav1.IncludeObject:
		m.include = policy
	default:
		return m, errTableInclude(policy)
	}
	return m, nil
}

// body returns one object as the client asked for it.
func (t *table[T]) body(v *version[T], m media) ([]byte, error) {
	b, err := t.encodeBody(v, m)
	if err != nil {
		return nil, errEncoding(t.res.Kind, v.key, err)
	}
	return b, nil
}

func (t *table[T]) encodeBody(v *version[T], m media) ([]byte, error) {
	switch {
	case m.form == mediaTable:
		row, err := t.row(v, m)
		if err != nil {
			return nil, err
		}
		list, err := tableHead(metav1.ListMeta{ResourceVersion: formatRV(v.rv)})
		if err != nil {
			return nil, err
		}
		return append(append(list, row...), "]}"...), nil
	case m.form == mediaPartial && m.protobuf:
		return envelope(partialKind, meta.AsPartialObjectMetadata(v.obj).Marshal)
	case m.protobuf:
		b, err := protobufOf(v.obj)
		if err != nil {
			return nil, err
		}
		return envelope(t.res.typeMeta(), func() ([]byte, error) { return b, nil })
	}
	b, err := v.json(&t.res)
	if err == nil && m.form == mediaPartial {
		b, err = partial(b)
	}
	return b, err
}

// partial cuts an encoded object down to its metadata.
func partial(b []byte) ([]byte, error) {
	var in struct {
		Metadata json.RawMessage `json:"metadata"`
	}
	if err := json.Unmarshal(b, &in); err != nil {
		return nil, err
	}
	if in.Metadata == nil {
		in.Metadata = json.RawMessage("{}")
	}
	return json.Marshal(struct {
		Kind       string          `json:"kind"`
		APIVersion string          `json:"apiVersion"`
		Metadata   json.RawMessage `json:"metadata"`
	}{partialKind.Kind, partialKind.APIVersion, in.Metadata})
}

var (
	partialKind     = metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: "meta.k8s.io/v1"}
	partialListKind = metav1.TypeMeta{Kind: "PartialObjectMetadataList", APIVersion: "meta.k8s.io/v1"}
	tableKind       = metav1.TypeMeta{Kind: "Table", APIVersion: "meta.k8s.io/v1"}
	statusKind      = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
)

func (r *Resource) typeMeta() metav1.TypeMeta {
	return metav1.TypeMeta{Kind: r.Kind, APIVersion: r.groupVersion().String()}
}
