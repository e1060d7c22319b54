package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/internal/decode"
)

// Encoding is how a server writes objects: a media type.
// (https://kubernetes.io/docs/reference/using-api/api-concepts/#alternate-representations-of-resources)
type Encoding string

const (
	// JSON is what every server writes for every resource.
	JSON Encoding = "application/json"

	// Protobuf is the Kubernetes protobuf encoding, which API servers write for built-in
	// resources. It takes about two thirds of the bytes of JSON and a third of the time.
	// A list of it is known by a kind that ends in "List"; where it has another name, as
	// that of an aggregated API may, Options.Kind has to be set.
	Protobuf Encoding = "application/vnd.kubernetes.protobuf"

	// CBOR is what servers write whose feature gate CBORServingAndStorage is on (off by
	// default up to Kubernetes 1.37). It is smaller than JSON, but no faster here:
	// it is decoded as the JSON that it stands for.
	CBOR Encoding = "application/cbor"
)

// cborSequence is the content type of a watch in CBOR (RFC 8742).
const cborSequence = "application/cbor-seq"

// encodingOf is the encoding that a Content-Type header names. Whatever is none of the
// others is read as JSON, and refused with an excerpt if it is none.
func encodingOf(contentType string) Encoding {
	media, _, _ := strings.Cut(contentType, ";")
	switch media = strings.ToLower(strings.TrimSpace(media)); media {
	case string(Protobuf):
		return Protobuf
	case string(CBOR), cborSequence:
		return CBOR
	}
	return JSON
}

// newValueReader makes the reader of a body that is not Protobuf. limit is that of one value.
func newValueReader(e Encoding, in io.Reader, limit int64) decode.Reader {
	if e == CBOR {
		return decode.NewCBOR(in, limit)
	}
	return decode.NewJSON(in, limit)
}

// encoding is that of the answer.
func (a *answer) encoding() Encoding { return encodingOf(a.header.Get("Content-Type")) }

// statusIn decodes a metav1.Status in any encoding; ok is false if body is something else.
func (c *objectCodec[T]) statusIn(e Encoding, body []byte) (st metav1.Status, ok bool) {
	switch e {
	case Protobuf:
		m, _ := openEnvelope(body)
		return m.status()
	case CBOR:
		body, _ = decode.CBORToJSON(body, decode.Unlimited)
	}
	return c.status(body)
}

// chooseEncoding checks Options.Encoding against what T can be decoded from. The first
// choice is Protobuf.
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
	case JSON, CBOR:
		return asked, nil
	}
	return "", fmt.Errorf("unknown encoding %q", asked)
}

// accept is the Accept header for a T, or for a T with suffix. JSON is the last choice, so
// that a server which does not know the first one answers all the same.
func (r *Resource[T]) accept(suffix string) string {
	choices := []Encoding{r.encoding, JSON}
	if r.encoding == JSON || r.jsonOnly.Load() {
		choices = choices[1:]
	}
	var all []string
	if r.objects.partial {
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

// ask sends a call whose answer is a T, or a T with suffix. A server that refuses the
// encoding is asked for JSON, now and from now on: the refusal comes before it does
// anything. (kube-apiserver 1.37 refuses custom resources as protobuf only when that is
// all that is accepted, others do so whenever it is the first choice.)
func (r *Resource[T]) ask(ctx context.Context, c call, suffix string) (*answer, error) {
	c.accept = r.accept(suffix)
	a, err := r.send(ctx, c)
	if r.encoding == JSON || !notAcceptable(err) || r.jsonOnly.Swap(true) && !strings.Contains(c.accept, string(r.encoding)) {
		return a, err
	}
	c.accept = r.accept(suffix)
	return r.send(ctx, c)
}

func notAcceptable(err error) bool {
	var status *apierrors.StatusError
	return errors.As(err, &status) && status.ErrStatus.Code == http.StatusNotAcceptable
}
