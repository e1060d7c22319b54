package handle

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/kind"
)

// Item is a small object, so that decoding does not hide what is measured.
type Item struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Group             string `json:"group"`
}

var items = kind.Of[*Item](schema.GroupVersion{Group: "example.com", Version: "v1"}, "items")

const (
	population = 10_000
	groupSize  = 100
	firstRV    = 1_000_000_000 // of the list; a version always has ten digits
)

// server is a transport with an API server behind it that has population items. Its watch sends
// updates on request.
type server struct {
	list []byte
	next chan int // numbers of updates to send

	mu     sync.Mutex
	sent   int
	events [][]byte // of each object
}

func newServer() *server {
	var list bytes.Buffer
	fmt.Fprintf(&list, `{"kind":"ItemList","apiVersion":"example.com/v1","metadata":{"resourceVersion":"%d"},"items":[`, firstRV)
	for n := range population {
		if n > 0 {
			list.WriteByte(',')
		}
		list.WriteString(object(n, firstRV))
	}
	list.WriteString("]}")
	s := &server{list: list.Bytes(), next: make(chan int, 1)}
	for n := range population {
		s.events = append(s.events, []byte(`{"type":"MODIFIED","object":`+object(n, firstRV)+"}\n"))
	}
	return s
}

const versionField = `"resourceVersion":"`

func name(n int) string  { return fmt.Sprintf("item-%05d", n%population) }
func group(n int) string { return fmt.Sprintf("group-%03d", n%population/groupSize) }

func object(n, rv int) string {
	return fmt.Sprintf(`{"kind":"Item","apiVersion":"example.com/v1","metadata":{"namespace":"prod","name":%q,"uid":"uid-of-%s","resourceVersion":"%d"},"group":%q}`,
		name(n), name(n), rv, group(n))
}

func (s *server) connection() client.Connection {
	return client.Connection{URL: "http://server", HTTP: &http.Client{Transport: s}}
}

// RoundTrip implements http.RoundTripper.
func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	body := io.NopCloser(bytes.NewReader(s.list))
	if strings.Contains(r.URL.RawQuery, "watch=") {
		body = &updates{server: s, done: r.Context().Done()}
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: body,
		ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1, Request: r,
	}, nil
}

// updates is the body of a watch.
type updates struct {
	*server
	done <-chan struct{}
	due  int
	rest []byte
}

// Read sends one update at a time.
func (u *updates) Read(p []byte) (int, error) {
	if len(u.rest) == 0 {
		for u.due == 0 {
			select {
			case u.due = <-u.next:
			case <-u.done:
				return 0, io.EOF
			}
		}
		u.due--
		u.rest = u.update()
	}
	n := copy(p, u.rest)
	u.rest = u.rest[n:]
	return n, nil
}

// update returns the next update: only its version differs from the object's last update.
func (s *server) update() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent++
	event := s.events[s.sent*7919%population]
	at := bytes.Index(event, []byte(versionField)) + len(versionField)
	strconv.AppendInt(event[:at], int64(firstRV+s.sent), 10) // as many digits as before
	return event
}

func (u *updates) Close() error { return nil }
