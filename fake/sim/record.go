package sim

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kinform/kinform/fake/faults"
)

// Record returns a transport that leads to next, and writes to w what the program behind it sees of objects: a line of
// JSON for each version of one, and for each write of the program itself. [Recorded] makes users of it, so what happened
// in a cluster becomes a test.
//
// Of a Secret, the record has type, metadata and data alone, and each value of data, annotations and labels becomes the
// version of the object. Of other objects, annotations that may hold an object are left out: those longer than 128 bytes,
// or with a brace, a bracket or a line break. Managed fields are left out. What else is secret in other objects is not.
//
// The program gets JSON where it asked for protobuf. A program that asks for metadata records no more than that. The
// transport can be used concurrently. An error of w ends the record, and disturbs no request.
func Record(w io.Writer, next http.RoundTripper) http.RoundTripper {
	return &recorder{next: next, to: json.NewEncoder(w)}
}

type recorder struct {
	next http.RoundTripper

	mu    sync.Mutex
	to    *json.Encoder // nil after an error
	begun time.Time
}

// entry is a line of a record. It has one of the last three.
type entry struct {
	At   time.Duration `json:"at"`             // since the first one
	Path string        `json:"path,omitempty"` // of the collection, in all namespaces
	Saw  object        `json:"saw,omitempty"`
	Gone object        `json:"gone,omitempty"`
	Own  string        `json:"own,omitempty"` // uid and version that a write of the program made, or uid of what it deleted
}

// RoundTrip implements http.RoundTripper.
func (d *recorder) RoundTrip(r *http.Request) (*http.Response, error) {
	a, ok := parseAddress(r.URL.Path)
	verb := verbOf(r, a)
	if !ok || a.subresource != "" && verb == faults.VerbGet {
		return d.next.RoundTrip(r)
	}
	sent := r.Clone(r.Context())
	sent.Header.Del("Accept-Encoding") // a transport asks for gzip by itself, and undoes it
	for i, accept := range sent.Header["Accept"] {
		sent.Header["Accept"][i] = strings.NewReplacer("/vnd.kubernetes.protobuf", "/json", "/cbor", "/json").Replace(accept)
	}
	answer, err := d.next.RoundTrip(sent)
	switch {
	case err != nil || answer.StatusCode >= http.StatusMultipleChoices:
	case verb == faults.VerbWatch:
		answer.Body = &lines{ReadCloser: answer.Body, to: func(line []byte) { d.event(a, line) }}
	default:
		var body []byte
		body, err = io.ReadAll(answer.Body)
		err = errors.Join(err, answer.Body.Close())
		answer.Body = io.NopCloser(bytes.NewReader(body))
		d.answer(verb, a, body)
	}
	return answer, err
}

// event notes an event of a watch.
func (d *recorder) event(of address, line []byte) {
	var e struct {
		Type   string
		Object object
	}
	switch _ = json.Unmarshal(line, &e); e.Type {
	case "ADDED", "MODIFIED":
		d.write(entry{Path: of.root(), Saw: of.blanked(e.Object)})
	case "DELETED":
		d.write(entry{Path: of.root(), Gone: of.blanked(e.Object)})
	}
}

// answer notes the answer to a read or a write, if it has objects.
func (d *recorder) answer(verb faults.Verb, of address, body []byte) {
	var list struct{ Items []object }
	var single object
	if json.Unmarshal(body, &list) != nil || json.Unmarshal(body, &single) != nil {
		return
	}
	switch uid := uidOf(single); {
	case verb == faults.VerbDelete:
		details, _ := single["details"].(object) // of a Status
		d.write(entry{Own: uid + text(details["uid"])})
	case (call{verb: verb}).writes() && ends(single): // the answer has the version of the deletion, which may be another's
	case (call{verb: verb}).writes() && uid != "":
		d.write(entry{Own: uid + " " + text(meta(single)["resourceVersion"])})
	case verb == faults.VerbGet && uid != "": // a Table has none
		d.write(entry{Path: of.root(), Saw: of.blanked(single)})
	}
	for _, o := range list.Items {
		if _, has := o["kind"]; !has {
			o["apiVersion"], o["kind"] = single["apiVersion"], strings.TrimSuffix(text(single["kind"]), "List")
		}
		d.write(entry{Path: of.root(), Saw: of.blanked(o)})
	}
}

// ends reports whether a write took the last finalizer of an object away that is being deleted.
func ends(o object) bool {
	m := meta(o)
	grace, _ := m["deletionGracePeriodSeconds"].(float64)
	return m["deletionTimestamp"] != nil && m["finalizers"] == nil && grace == 0
}

func (d *recorder) write(e entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.begun.IsZero() {
		d.begun = time.Now()
	}
	e.At = time.Since(d.begun)
	if d.to != nil && d.to.Encode(e) != nil {
		d.to = nil
	}
}

// root returns the path of a collection, in all namespaces.
func (a address) root() string {
	if a.group == "" {
		return "/api/" + a.version + "/" + a.resource
	}
	return "/apis/" + a.group + "/" + a.version + "/" + a.resource
}

// blanked takes out of an object what a record must not have: see [Record]. Each version of a Secret still has other values.
func (a address) blanked(o object) object {
	m := meta(o)
	delete(m, "managedFields")
	notes, _ := m["annotations"].(object)
	if a.collection() != "secrets" {
		maps.DeleteFunc(notes, func(_ string, v any) bool { return len(text(v)) > 128 || strings.ContainsAny(text(v), "{[\r\n") })
		return o
	}
	maps.DeleteFunc(o, func(field string, _ any) bool {
		return !slices.Contains([]string{"apiVersion", "kind", "type", "metadata", "data"}, field)
	})
	labels, _ := m["labels"].(object)
	data, _ := o["data"].(object)
	version := text(m["resourceVersion"])
	for _, values := range []object{notes, labels, data} {
		for name := range values {
			values[name] = version
		}
	}
	for name := range data {
		data[name] = base64.StdEncoding.EncodeToString([]byte(version))
	}
	return o
}

// lines gives each line that is read from a body to a function.
type lines struct {
	io.ReadCloser
	to   func([]byte)
	read bytes.Buffer
}

// Read implements io.Reader.
func (l *lines) Read(into []byte) (int, error) {
	n, err := l.ReadCloser.Read(into)
	l.read.Write(into[:n])
	for i := bytes.IndexByte(l.read.Bytes(), '\n'); i >= 0; i = bytes.IndexByte(l.read.Bytes(), '\n') {
		l.to(l.read.Next(i + 1))
	}
	return n, err
}
