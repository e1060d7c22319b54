package client

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"io"
	"net/http"
	"strings"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// unzipped reads a body that is compressed with gzip. Unlike the reader of net/http, it returns the
// end of a member before it waits for the next one: an API server begins a member for each event of
// a watch.
type unzipped struct {
	body   io.ReadCloser
	in     *bufio.Reader
	member gzip.Reader
	within bool // a member
}

func (z *unzipped) Read(p []byte) (int, error) {
	for len(p) > 0 {
		if err := z.begin(); err != nil {
			return 0, err
		}
		n, err := z.member.Read(p)
		if err == io.EOF {
			z.within, err = false, nil
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
	return 0, nil
}

// begin begins the next member, unless one is being read. The error is io.EOF if there is none.
func (z *unzipped) begin() error {
	if z.within {
		return nil
	}
	if _, err := z.in.Peek(1); err != nil {
		return err
	}
	if err := z.member.Reset(z.in); err == io.EOF {
		return io.ErrUnexpectedEOF
	} else if err != nil {
		return err
	}
	z.member.Multistream(false)
	z.within = true
	return nil
}

func (z *unzipped) Close() error { return z.body.Close() }

// unzip returns the body of an answer, decompressed if need be. The transport has removed the header
// if it decompresses the body itself.
func unzip(resp *http.Response) io.ReadCloser {
	if !strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip") {
		return resp.Body
	}
	return &unzipped{body: resp.Body, in: bufio.NewReader(resp.Body)}
}

// acceptEncoding returns the header of that name for a watch; empty text leaves it to the transport.
// Only the initial events are worth compressing. A proxy that compresses what follows may hold an
// event back until the next one comes.
func (e endpoint) acceptEncoding(initialEvents bool) string {
	if !initialEvents {
		return "identity"
	}
	at := cmp.Or(e.http.Transport, http.DefaultTransport)
	for {
		switch t := at.(type) {
		case *transport:
			return "gzip"
		case *http.Transport:
			if t.DisableCompression {
				return ""
			}
			return "gzip"
		case utilnet.RoundTripperWrapper:
			at = t.WrappedRoundTripper()
			continue
		}
		return ""
	}
}
