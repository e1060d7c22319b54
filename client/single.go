package client

import (
	"errors"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/internal/decode"
)

// single is a body of one object, as far as it can be read without its type.
type single struct {
	encoding encoding
	body     []byte     // unless it is protobuf
	message  rawMessage // if it is protobuf
}

// readSingle reads a body of one object in its encoding.
func readSingle(r *resource, a *answer) (single, error) {
	s := single{encoding: a.encoding()}
	body, err := readLimited(meter(r, a), a.size, r.limit)
	if err != nil {
		return s, fmt.Errorf("reading the object: %w", err)
	}
	if s.encoding == inProtobuf {
		s.message, err = openEnvelope(body, expected(r))
	} else {
		s.body, err = decode.Delimit(body)
	}
	if err != nil {
		return s, a.unlike(err)
	}
	return s, nil
}

// singleHeader returns the identifying fields of the object.
func singleHeader(c *objectCodec, s single) decode.Header {
	if s.encoding == inProtobuf {
		return s.message.header()
	}
	return c.json().Header(s.body)
}

func decodeSingle(c *objectCodec, s single, want expectation) (d decoded, err error) {
	// Nothing is shared: it may be for an update.
	if s.encoding == inProtobuf {
		d, err = decodeMessage(c, s.message, nil, want, &workspace{})
	} else {
		d, err = decodeObject(c, s.body, nil, want, &workspace{codec: c.json()})
	}
	if err == nil {
		err = complete(c, d, want)
	}
	return d, err
}

func singleStatus(c *objectCodec, s single) (metav1.Status, bool) {
	if s.encoding == inProtobuf {
		return s.message.status()
	}
	return jsonStatus(c, s.body)
}

// readBody reads an answer of one object. For a created subresource that the server only
// confirms, there is no object.
func readBody(r *resource, c call, a *answer) (any, error) {
	s, err := readSingle(r, a)
	if err != nil {
		return nil, err
	}
	want := expected(r)
	if c.foreign() {
		want = asIs(singleHeader(codecOf(r), s))
	}
	d, err := decodeSingle(codecOf(r), s, want)
	if err == nil {
		return d.object, nil
	}
	if st, ok := singleStatus(codecOf(r), s); ok && st.Status != metav1.StatusSuccess {
		err = failed(st)
	} else if ok && c.method == http.MethodPost && c.foreign() {
		return nil, nil
	} else if errors.Is(err, errWrongKind) {
		err = fmt.Errorf("%w (%s)", err, a.excerpt())
	}
	return nil, err
}
