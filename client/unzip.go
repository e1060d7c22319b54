package client

import (
	"bufio"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
)

// unzipped reads a body that is compressed with gzip. Unlike the reader of net/http, it returns the
// end of a member before it waits for the next one: an API server begins a member for each event of
// a watch. Between members it has no decompressor, which takes 40 KB: most watches wait.
type unzipped struct {
	body   io.ReadCloser
	in     *bufio.Reader
	member *gzip.Reader // nil between members
	spare  spares
}

// spares is a sync.Pool of *gzip.Reader, whose type each package with a Resource would compile.
type spares interface {
	Get() any
	Put(any)
}

func (z *unzipped) Read(p []byte) (int, error) {
	for len(p) > 0 {
		if err := z.begin(); err != nil {
			return 0, err
		}
		n, err := z.member.Read(p)
		if err == io.EOF {
			z.spare.Put(z.member)
			z.member, err = nil, nil
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
	return 0, nil
}

// begin begins the next member, unless one is being read. The error is io.EOF if there is none.
func (z *unzipped) begin() error {
	if z.member != nil {
		return nil
	}
	if _, err := z.in.Peek(1); err != nil {
		return err
	}
	member, ok := z.spare.Get().(*gzip.Reader)
	if !ok {
		member = new(gzip.Reader)
	}
	if err := member.Reset(z.in); err == io.EOF {
		return io.ErrUnexpectedEOF
	} else if err != nil {
		return err
	}
	member.Multistream(false)
	z.member = member
	return nil
}

func (z *unzipped) Close() error { return z.body.Close() }

// unzip returns the body of an answer, decompressed if need be. The transport has removed the header
// if it decompresses the body itself. spare has decompressors of the same server's answers.
func unzip(resp *http.Response, spare spares) io.ReadCloser {
	if !strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip") {
		return resp.Body
	}
	return &unzipped{body: resp.Body, in: bufio.NewReader(resp.Body), spare: spare}
}

// acceptEncoding returns the header of that name for a watch; empty text leaves it to the transport.
// Only the initial events are worth compressing. A proxy that compresses what follows may hold an
// event back until the next one comes.
func (e endpoint) acceptEncoding(initialEvents bool) string {
	if !initialEvents {
		return "identity"
	}
	switch t := e.innermost().(type) {
	case *transport:
		return "gzip"
	case *http.Transport:
		if !t.DisableCompression {
			return "gzip"
		}
	}
	return ""
}
