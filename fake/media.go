package fake

import (
	"encoding/json"
	"mime"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// mediaForm is a form in which objects can be sent.
type mediaForm int

const (
	mediaWhole   mediaForm = iota
	mediaPartial           // PartialObjectMetadata: metadata alone
)

// negotiate picks the first form in the Accept headers that the server can send, by
// order and not by weight, as API clients list them.
func negotiate(accept []string) (mediaForm, error) {
	asked := false
	for _, header := range accept {
		for option := range strings.SplitSeq(header, ",") {
			if strings.TrimSpace(option) == "" {
				continue
			}
			asked = true
			kind, params, err := mime.ParseMediaType(option)
			if err != nil || kind != "application/json" && kind != "application/*" && kind != "*/*" {
				continue
			}
			switch params["as"] {
			case "":
				return mediaWhole, nil
			case "PartialObjectMetadata", "PartialObjectMetadataList":
				if params["g"] == metav1.GroupName && params["v"] == "v1" {
					return mediaPartial, nil
				}
			}
		}
	}
	if asked {
		return mediaWhole, errNotAcceptable()
	}
	return mediaWhole, nil
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
	}{"PartialObjectMetadata", metav1.SchemeGroupVersion.String(), in.Metadata})
}

// listHead returns a list object up to and with the bracket of its items.
func (t *table[T]) listHead(meta metav1.ListMeta, media mediaForm) ([]byte, error) {
	head := struct {
		Kind       string          `json:"kind"`
		APIVersion string          `json:"apiVersion"`
		Metadata   metav1.ListMeta `json:"metadata"`
	}{t.res.ListKind, t.res.groupVersion().String(), meta}
	if media == mediaPartial {
		head.Kind, head.APIVersion = "PartialObjectMetadataList", metav1.SchemeGroupVersion.String()
	}
	b, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	return append(b[:len(b)-1], `,"items":[`...), nil
}
