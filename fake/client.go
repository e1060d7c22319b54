package fake

import (
	"net/http"

	"github.com/kinform/kinform/fake/internal/inprocess"
)

// URL is a base address for [Server.Client]. Any other works as well: the client looks up no
// name.
const URL = "http://fake.invalid"

// Client returns an HTTP client whose requests s answers in this process, without sockets,
// watches included. It is deterministic under testing/synctest, and has no idle connections
// to close.
func (s *Server) Client() *http.Client {
	return &http.Client{Transport: inprocess.Transport{Handler: s}}
}
