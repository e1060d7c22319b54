package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"unicode/utf8"
)

// excerptLimit is the number of bytes of an answer that an error shows.
const excerptLimit = 160

// answer is the body of a response, read by one goroutine. It keeps the beginning of the body
// for errors.
type answer struct {
	ctx    context.Context
	guard  guard
	header http.Header
	body   io.ReadCloser
	size   int64 // of the body, as the server says; negative if it does not say
	start  [excerptLimit]byte
	read   int64
	ended  bool
}

// encoding returns the answer's encoding.
func (a *answer) encoding() encoding { return encodingOf(a.header.Get("Content-Type")) }

// Read implements io.Reader. An error of a done context matches the context's error.
func (a *answer) Read(p []byte) (int, error) {
	if err := a.ctx.Err(); err != nil {
		return 0, err // not every transport watches the context while a body is read
	}
	a.guard.begin()
	n, err := a.body.Read(p)
	a.guard.end(n)
	if a.read < int64(len(a.start)) {
		copy(a.start[a.read:], p[:n])
	}
	a.read += int64(n)
	if err != nil && err != io.EOF {
		err = withContext(a.ctx, a.guard.explain(err))
	}
	a.ended = err != nil
	return n, err
}

// close gives the connection back if little is left to read. It does not drain a watch, whose
// body ends when the server decides.
func (a *answer) close() {
	if !a.ended {
		_, _ = io.CopyN(io.Discard, a, drainLimit)
	}
	a.abandon()
}

// abandon closes the body without waiting for the rest of it.
func (a *answer) abandon() {
	_ = a.body.Close()
	a.guard.release()
}

// unlike marks an error as one about the whole body: it is not the requested kind of answer.
func (a *answer) unlike(err error) error {
	return fmt.Errorf("%w: %w (%s)", errNotKubernetes, err, a.excerpt())
}

// excerpt describes the body and shows its beginning if it is text. It does not show
// binary bodies: they are unreadable, and may begin with the data of a Secret.
func (a *answer) excerpt() string {
	contentType := a.header.Get("Content-Type")
	if contentType == "" {
		contentType = "no content type"
	}
	if a.read == 0 {
		return contentType + ", empty body"
	}
	return contentType + ", " + beginning(a.start[:min(a.read, int64(len(a.start)))], a.read)
}

// beginning describes a body, or a part of one, of n bytes by those at its beginning. It does not
// show the data of a Secret, which some servers send before the kind.
func beginning(begin []byte, n int64) string {
	if bytes.ContainsFunc(begin, binary) {
		return "binary"
	}
	for _, field := range []string{`"data"`, `"stringData"`, `\"data\"`, `\"stringData\"`} { // the latter two in an annotation
		begin, _, _ = bytes.Cut(begin, []byte(field))
	}
	dots := ""
	if n > int64(len(begin)) {
		dots = "..."
	}
	return fmt.Sprintf("beginning with %q%s", begin, dots)
}

// binary reports whether c cannot occur in text.
func binary(c rune) bool {
	return c < ' ' && c != '\n' && c != '\r' && c != '\t' || c == utf8.RuneError
}
