package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Encoding is the format of a server's answer, as a media type.
// (https://kubernetes.io/docs/reference/using-api/api-concepts/#alternate-representations-of-resources)
type Encoding string

const (
	// JSON is supported by every server for every resource.
	JSON Encoding = "application/json"

	// Protobuf is the Kubernetes protobuf encoding, which API servers support for built-in
	// resources. It takes about two thirds of the bytes of JSON and a third of the time. A
	// list in it is recognized by a kind that ends in "List". If it has another name, as it
	// may in an aggregated API, name the kind.
	Protobuf Encoding = "application/vnd.kubernetes.protobuf"
)

// chooseEncoding checks that T can be decoded from Options.Encoding. By default it chooses
// Protobuf.
func chooseEncoding(asked Encoding, protobuf error) (Encoding, error) {
	switch asked {
	case "":
		if protobuf != nil {
			return JSON, nil
		}
		return Protobuf, nil
	case Protobuf:
		if protobuf != nil {
			return "", fmt.Errorf("encoding %s: %w", asked, protobuf)
		}
		return asked, nil
	case JSON:
		return asked, nil
	}
	return "", fmt.Errorf("unknown encoding %q", asked)
}

// encodingOf returns the encoding named by a Content-Type header. Any other type is read as
// JSON, and refused with an excerpt if it is not JSON.
func encodingOf(contentType string) Encoding {
	media, _, _ := strings.Cut(contentType, ";")
	if strings.ToLower(strings.TrimSpace(media)) == string(Protobuf) {
		return Protobuf
	}
	return JSON
}

// encoding returns the answer's encoding.
func (a *answer) encoding() Encoding { return encodingOf(a.header.Get("Content-Type")) }

// statusIn decodes a metav1.Status in any encoding; ok is false if body is not a Status.
func statusIn(c *objectCodec, e Encoding, body []byte) (st metav1.Status, ok bool) {
	if e == Protobuf {
		m, _ := openEnvelope(body, expectation{})
		return m.status()
	}
	return status(c, body)
}

// acceptAnswer returns the Accept header for an object, or for its kind with suffix. JSON is the last choice,
// so a server without the first one still answers.
func acceptAnswer(r *resource, suffix string) string {
	choices := []Encoding{r.encoding, JSON}
	if r.encoding == JSON || r.jsonOnly.Load() {
		choices = choices[1:]
	}
	var all []string
	if codecOf(r).partial {
		for _, e := range choices {
			all = append(all, fmt.Sprintf("%s;as=%s%s;g=%s;v=v1", e, partialKind, suffix, metav1.GroupName))
		}
	}
	for _, e := range choices {
		all = append(all, string(e))
	}
	for i := range all[1:] {
		all[i+1] += fmt.Sprintf(";q=0.%d", 9-i) // in this order
	}
	return strings.Join(all, ",")
}

// ask sends a call whose answer is an object, or its kind with suffix. If the server refuses the
// encoding, which happens before it does anything else, ask requests JSON, now and from now
// on. (kube-apiserver 1.37 refuses custom resources as protobuf only if nothing else is
// accepted. Other servers refuse whenever protobuf is the first choice.)
func ask(ctx context.Context, r *resource, c call, suffix string) (*answer, error) {
	c.accept = acceptAnswer(r, suffix)
	a, err := sendCall(ctx, r, c)
	if r.encoding == JSON || !notAcceptable(err) || r.jsonOnly.Swap(true) && !strings.Contains(c.accept, string(r.encoding)) {
		return a, err
	}
	c.accept = acceptAnswer(r, suffix)
	return sendCall(ctx, r, c)
}

func notAcceptable(err error) bool {
	var status *apierrors.StatusError
	return errors.As(err, &status) && status.ErrStatus.Code == http.StatusNotAcceptable
}
