package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/kinform/kinform/e2e/cluster"
	"github.com/kinform/kinform/e2e/oracle"
)

// userAgent becomes the manager in the managed fields of the created objects.
const userAgent = "kinform-record"

// session records from one cluster onto a tape.
type session struct {
	c     *cluster.Cluster
	api   *oracle.Client
	guest *http.Client
	tape  *tape
}

func newSession(c *cluster.Cluster, t *tape) *session {
	admin := &http.Client{Transport: agent{c.HTTPClient().Transport}}
	return &session{c: c, api: &oracle.Client{URL: c.URL(), HTTP: admin}, guest: c.HTTPClientAs(c.GuestToken()), tape: t}
}

// agent adds the program's name to every request.
type agent struct{ next http.RoundTripper }

func (a agent) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("User-Agent", userAgent)
	return a.next.RoundTrip(req)
}

// format is a media type to ask for.
type format struct {
	accept string
}

func jsonFormat() format     { return format{"application/json"} }
func protobufFormat() format { return format{"application/vnd.kubernetes.protobuf"} }

// formats returns all formats of a resource that the server supports.
func formats() []format {
	return []format{jsonFormat(), protobufFormat()}
}

// request is one response to record.
type request struct {
	name  string // of the file, without its extension
	about string
	path  string
	query url.Values

	format format       // zero means JSON
	as     string       // kind of the meta group that inFormats asks for; empty means the resource's own
	method string       // empty means GET
	body   any          // sent as JSON; nil means none
	client *http.Client // nil means the administrator's
	want   int          // status; 0 means 200
}

func (r request) in(f format) request {
	r.format = f
	return r
}

// record makes the requests in order and keeps the responses.
func (s *session) record(ctx context.Context, reqs ...request) error {
	for _, r := range reqs {
		e, body, err := s.fetch(ctx, r)
		if err != nil {
			return err
		}
		if err := s.tape.add(e, body); err != nil {
			return err
		}
	}
	return nil
}

// recordTogether makes the requests at the same time and keeps the responses in the order of the
// requests. Use it for watches, which mostly wait.
func (s *session) recordTogether(ctx context.Context, reqs ...request) error {
	entries, bodies := make([]entry, len(reqs)), make([][]byte, len(reqs))
	err := oracle.Each(ctx, len(reqs), len(reqs), func(ctx context.Context, i int) (err error) {
		entries[i], bodies[i], err = s.fetch(ctx, reqs[i])
		return err
	})
	if err != nil {
		return err
	}
	for i := range reqs {
		if err := s.tape.add(entries[i], bodies[i]); err != nil {
			return err
		}
	}
	return nil
}

// inFormats returns each request in every format.
func inFormats(reqs ...request) []request {
	var all []request
	for _, r := range reqs {
		for _, f := range formats() {
			if r.as != "" {
				f.accept += ";as=" + r.as + ";g=meta.k8s.io;v=v1"
			}
			all = append(all, r.in(f))
		}
	}
	return all
}

// fetch makes a request and returns an error unless the response has the expected status.
func (s *session) fetch(ctx context.Context, r request) (entry, []byte, error) {
	e, body, err := s.send(ctx, r)
	if err != nil {
		return e, nil, fmt.Errorf("recording %s: %w", r.name, err)
	}
	want := r.want
	if want == 0 {
		want = http.StatusOK
	}
	if e.Status != want {
		return e, nil, fmt.Errorf("recording %s: %s %s: status %d, want %d: %s", r.name, e.Method, e.Path, e.Status, want, body)
	}
	return e, body, nil
}

// send makes a request and describes the response, whatever its status is. It reads a watch to its
// end.
func (s *session) send(ctx context.Context, r request) (entry, []byte, error) {
	if r.format == (format{}) {
		r.format = jsonFormat()
	}
	e := entry{About: r.about, Method: r.method, Path: r.path, Accept: r.format.accept}
	if len(r.query) > 0 {
		e.Path += "?" + r.query.Encode()
	}
	if e.Method == "" {
		e.Method = http.MethodGet
	}
	if r.body != nil {
		data, err := json.Marshal(r.body)
		if err != nil {
			return e, nil, err
		}
		e.RequestBody = string(data)
	}
	req, err := http.NewRequestWithContext(ctx, e.Method, s.api.URL+e.Path, strings.NewReader(e.RequestBody))
	if err != nil {
		return e, nil, err
	}
	req.Header.Set("Accept", e.Accept)
	// Otherwise the transport requests gzip and decompresses the answer, and the recorded bytes
	// would not be those on the wire.
	req.Header.Set("Accept-Encoding", "identity")
	if e.RequestBody != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	client := r.client
	if client == nil {
		client = s.api.HTTP
	}
	resp, err := client.Do(req)
	if err != nil {
		return e, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return e, nil, err
	}
	e.Status, e.Header = resp.StatusCode, keep(resp.Header)
	e.File = r.name + "." + extension(resp.Header.Get("Content-Type"), body)
	return e, body, nil
}

// keep returns the headers that a client may read and that are the same in every run.
func keep(h http.Header) http.Header {
	kept := http.Header{}
	for _, key := range []string{"Content-Type", "Retry-After", "Warning", "Www-Authenticate"} {
		if values := h.Values(key); len(values) > 0 {
			kept[key] = values
		}
	}
	return kept
}

// extension names the format of the body, which may differ from the requested one.
func extension(contentType string, body []byte) string {
	switch {
	case strings.HasPrefix(contentType, "application/vnd.kubernetes.protobuf"):
		return "pb"
	case strings.HasPrefix(contentType, "application/json") && bytes.HasPrefix(body, []byte("{")):
		return "json"
	default:
		return "txt"
	}
}
