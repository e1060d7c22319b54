package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/internal/longtest"
	"github.com/kinform/kinform/reflector"
)

// manyWidgets returns n widgets as JSON, of which some cannot be used.
func manyWidgets(n int, seed uint64) (items []string) {
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range n {
		item := widgetJSON(fmt.Sprint("w", i), i+1, r.IntN(9))
		switch r.IntN(40) {
		case 0:
			item = `{"metadata":{"resourceVersion":"5"}}`
		case 1:
			item = strings.Replace(item, `"size":`, `"size":"`+strings.Repeat("x", r.IntN(30))+`","z":`, 1)
		case 2:
			if i == 0 { // it would be the kind of all
				break
			}
			item = `{"kind":"Gadget","apiVersion":"example.com/v1",` + item[1:]
		case 3:
			item = strings.Replace(item, `"spec":{`, `"spec":{"color":"`+strings.Repeat("y", 3000)+`",`, 1) // too large
		case 4:
			item = `null`
		case 5:
			item = strings.Replace(item, `"spec":{`, `"spec":{"color":"`+strings.Repeat("y", 1900)+`",`, 1)
		}
		items = append(items, item)
	}
	return items
}

// manyEvents returns the items as the initial events of a watch, which goes on after them. Among
// the last ones are changes.
func manyEvents(items []string, seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 2))
	var b strings.Builder
	for i, item := range items {
		if strings.HasPrefix(item, `{"metadata"`) {
			item = full(item)
		}
		switch n := r.IntN(60); {
		case n == 0 && i > len(items)/2:
			b.WriteString(eventJSON("MODIFIED", item))
		case n == 1 && i > len(items)/2:
			b.WriteString(eventJSON("DELETED", item))
		case n == 2 && i > len(items)/2:
			b.WriteString(eventJSON("BOOKMARK", bookmarkJSON))
		case n == 3:
			fmt.Fprintf(&b, `{"object":%s,"type":"ADDED"}`+"\n", item)
		case n == 4:
			fmt.Fprintf(&b, `{"type":"ADDED","object":%s,"object":%s}`+"\n", item, full(widgetJSON("twice", i, 1)))
		default:
			b.WriteString(eventJSON("ADDED", item))
		}
	}
	b.WriteString(eventJSON("BOOKMARK", initialJSON))
	b.WriteString(eventJSON("ADDED", full(widgetJSON("live", 5000, 1))))
	return b.String()
}

// checkDecoders compares what a body yields with several decoders and with one.
func checkDecoders[T any](t *testing.T, name, contentType string, body []byte, watch bool, opts client.Options) {
	t.Helper()
	var want []outcome[T]
	var wantEnd ending
	for _, n := range []int{1, 2, 4, 8} {
		r := client.Decoders(newResource[T](t, bodiesOf(contentType, body), opts), n)
		if opts.ShareJSON {
			r = forCache(r)
		}
		got, gotEnd := outcomes[T](t, r, watch)
		for i := range got {
			got[i].event.Sum = min(got[i].event.Sum, 1) // each Resource has its own seed
		}
		if n == 1 {
			want, wantEnd = got, gotEnd
			if len(got) < 100 {
				t.Fatalf("%s: %d objects, %v", name, len(got), gotEnd.err)
			}
			continue
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(outcome[T]{})); diff != "" {
			t.Errorf("%s, %d decoders: -one +several:\n%s", name, n, diff)
		}
		if diff := cmp.Diff(wantEnd.meta, gotEnd.meta); diff != "" || fmt.Sprint(gotEnd.err) != fmt.Sprint(wantEnd.err) {
			t.Errorf("%s, %d decoders: ends with %v, want %v; -one +several:\n%s", name, n, gotEnd.err, wantEnd.err, diff)
		}
	}
}

func TestDecodersAgree(t *testing.T) {
	for seed := range uint64(longtest.N(1, 20)) {
		items := manyWidgets(400, seed)
		list, events := listJSON(items...), manyEvents(items, seed)
		for _, opts := range []client.Options{
			{MaxObjectBytes: 2500},
			{MaxObjectBytes: 2500, DropManagedFields: true, ShareJSON: true},
		} {
			for name, cut := range map[string]int{"whole": 0, "cut": 9000, "broken": -1} {
				list, events := list, events
				switch cut {
				case 0:
				case -1:
					at := len(list) / 2
					list, events = list[:at]+"]]}"+list[at:], events[:at]+"]]}"+events[at:]
				default:
					list, events = list[:len(list)-cut], events[:len(events)-cut]
				}
				checkDecoders[*widget](t, name+" list", "application/json", []byte(list), false, opts)
				checkDecoders[widget](t, name+" list of values", "application/json", []byte(list), false, opts)
				checkDecoders[*unstructured.Unstructured](t, name+" unstructured list", "application/json", []byte(list), false, opts)
				checkDecoders[*widget](t, name+" watch", "application/json", []byte(events), true, opts)
				checkDecoders[*metav1.PartialObjectMetadata](t, name+" watch of metadata", "application/json", []byte(events), true, opts)
			}
		}
	}
}

// Lists and streams of protobuf, with an item that is too large and one without a name.
func TestDecodersAgreeOnProtobuf(t *testing.T) {
	var list metav1.PartialObjectMetadataList
	var frames bytes.Buffer
	event := func(typ string, m *metav1.PartialObjectMetadata) {
		frames.Write(protobufEvent(t, typ, protobufObject(t, "meta.k8s.io/v1", "PartialObjectMetadata", m)))
	}
	list.ResourceVersion = "9"
	for i := range 500 {
		m := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("w", i), Namespace: "ns", ResourceVersion: fmt.Sprint(i + 1)}}
		switch {
		case i%97 == 50:
			m.Name = ""
		case i%89 == 50:
			m.Labels = map[string]string{"a": strings.Repeat("x", 3000)}
		}
		list.Items = append(list.Items, m)
		event("ADDED", &m)
		if i > 250 && i%61 == 60 {
			event("DELETED", &m)
		}
	}
	end := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "900", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}
	event("BOOKMARK", &end)
	event("ADDED", &list.Items[0])
	opts := client.Options{MaxObjectBytes: 2500, ShareJSON: true}
	body := protobufObject(t, "meta.k8s.io/v1", "PartialObjectMetadataList", &list)
	for _, cut := range []int{0, 500} {
		checkDecoders[*metav1.PartialObjectMetadata](t, "list", client.Protobuf, body[:len(body)-cut], false, opts)
		checkDecoders[*metav1.PartialObjectMetadata](t, "watch", client.Protobuf+";stream=watch", frames.Bytes()[:frames.Len()-cut], true, opts)
	}
}

// TestDecodersStop leaves a list and a watch at any object. No goroutine may stay, which TestMain
// checks.
func TestDecodersStop(t *testing.T) {
	items := manyWidgets(300, 9)
	r := client.Decoders(newResource[*widget](t, bodies(listJSON(items...)), client.Options{}), 2)
	w := client.Decoders(newResource[*widget](t, bodies(manyEvents(items, 9)), client.Options{}), 2)
	initial := true
	for stop := 1; stop < 300; stop += 1 + stop/20 {
		n := 0
		_, err := r.List(t.Context(), metav1.ListOptions{}, func(reflector.Event[*widget], error) bool { n++; return n < stop })
		if err != reflector.ErrListStopped || n != stop {
			t.Errorf("stopped after %d of %d objects: %v", n, stop, err)
		}
		n = 0
		for range w.Watch(t.Context(), metav1.ListOptions{SendInitialEvents: &initial, AllowWatchBookmarks: true}) {
			if n++; n == stop {
				break
			}
		}
		if n != stop {
			t.Errorf("left after %d of %d events", n, stop)
		}
	}
}

// quitter ends the goroutine that decodes it, or panics, when its JSON says so.
type quitter struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              quits `json:"spec"`
}

type quits struct{}

func (quits) UnmarshalJSON(b []byte) error {
	if bytes.Contains(b, []byte("6")) {
		runtime.Goexit()
	}
	if bytes.Contains(b, []byte("7")) {
		panic(errTouchy)
	}
	return nil
}

func TestDecoderThatEnds(t *testing.T) {
	var items []string
	for i := range 500 {
		size := 1
		switch {
		case i >= 100 && i%50 == 3:
			size = 6
		case i%50 == 20:
			size = 7
		}
		items = append(items, widgetJSON(fmt.Sprint("w", i), i+1, size))
	}
	r := client.Decoders(newLike(t, bodies(listJSON(items...)), &quitter{}, client.Options{}), 2)
	good, bad := 0, 0
	_, err := r.List(t.Context(), metav1.ListOptions{}, func(ev reflector.Event[any], err error) bool {
		if err == nil {
			good++
			return true
		}
		var object *reflector.ObjectError
		if bad++; !errors.As(err, &object) {
			t.Error(err)
		}
		return true
	})
	if err != nil || good+bad != 500 || bad != 18 {
		t.Errorf("%d objects and %d errors of 500: %v", good, bad, err)
	}
}

// dripping is a body of which a piece comes now and then.
type dripping struct {
	pieces []string
	every  time.Duration
}

func (d *dripping) Read(b []byte) (int, error) {
	if len(d.pieces) == 0 {
		return 0, io.EOF
	}
	time.Sleep(d.every)
	n := copy(b, d.pieces[0])
	if d.pieces[0] = d.pieces[0][n:]; d.pieces[0] == "" {
		d.pieces = d.pieces[1:]
	}
	return n, nil
}

// TestSlowServer sees each object of a slow server at most one object late.
func TestSlowServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, every = 200, 10 * time.Second
		head, foot, _ := strings.Cut(listJSON("ITEMS"), "ITEMS")
		pieces := []string{head + widgetJSON("w", 1, 1)}
		for i := range n - 1 {
			pieces = append(pieces, ","+widgetJSON(fmt.Sprint("w", i), 1, 1))
		}
		pieces = append(pieces, foot)
		conn := transport(func(*http.Request) (*http.Response, error) {
			return response(&dripping{pieces, every}), nil
		}).connection()
		r := client.Decoders(newResource[*widget](t, conn, client.Options{}), 4)
		seen, last := 0, time.Now()
		_, err := r.List(t.Context(), metav1.ListOptions{}, func(reflector.Event[*widget], error) bool {
			if took := time.Since(last); took > 2*every {
				t.Errorf("nothing for %v before object %d", took, seen)
			}
			seen, last = seen+1, time.Now()
			return true
		})
		if err != nil || seen != n {
			t.Error(seen, err)
		}
	})
}

// quiet is a body after which the server sends nothing more until the request ends.
type quiet struct {
	io.Reader
	request context.Context
}

func (q quiet) Read(b []byte) (int, error) {
	n, err := q.Reader.Read(b)
	if err == io.EOF {
		<-q.request.Done()
		err = q.request.Err()
	}
	return n, err
}

// TestQuietWatch yields what has come, although nothing more comes: in a watch that has no
// bookmarks, and after the initial events of a server that does not mark their end.
func TestQuietWatch(t *testing.T) {
	var added strings.Builder
	for i := range 100 {
		added.WriteString(eventJSON("ADDED", full(widgetJSON(fmt.Sprint("w", i), i+1, 1))))
	}
	modified := eventJSON("MODIFIED", full(widgetJSON("w1", 101, 1)))
	for _, c := range []struct {
		name, body string
		bookmarks  bool
		want       int
	}{
		{"no bookmarks", added.String(), false, 100},
		{"after a change", added.String() + modified + added.String(), true, 201},
		{"after a bookmark", added.String() + eventJSON("BOOKMARK", bookmarkJSON) + added.String(), true, 201},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn := transport(func(req *http.Request) (*http.Response, error) {
					return response(quiet{strings.NewReader(c.body), req.Context()}), nil
				}).connection()
				r := client.Decoders(newResource[*widget](t, conn, client.Options{}), 4)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				initial, seen := true, 0
				for _, err := range r.Watch(ctx, metav1.ListOptions{SendInitialEvents: &initial, AllowWatchBookmarks: c.bookmarks}) {
					if err == nil {
						seen++
					} else if !errors.Is(err, context.DeadlineExceeded) {
						t.Error(err)
					}
				}
				if seen != c.want {
					t.Errorf("%d events, want %d", seen, c.want)
				}
			})
		})
	}
}
