package fake

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/fake/internal/answer"
	"github.com/kinform/kinform/fake/internal/refusal"
	"github.com/kinform/kinform/fake/internal/wire"
	"github.com/kinform/kinform/reflector"
)

// serveWatch writes events as they come, flushed whenever the stream runs dry.
func (t *table) serveWatch(w *answer.Writer, r *http.Request, req parsedRequest, opts metav1.ListOptions, media wire.Media, f *faults.Fault) error {
	m, err := t.matcher(Selection{Namespace: req.namespace}, opts)
	if err != nil {
		return err
	}
	whole, err := t.watch(m, opts)
	if err != nil {
		return err
	}
	stream := tamper(whole, f)
	defer stream.close()
	w.Gzip = opts.AllowWatchBookmarks && opts.SendInitialEvents != nil && *opts.SendInitialEvents && takesGzip(r)
	w.Begin(http.StatusOK, media.WatchType())
	if err := w.Flush(); err != nil {
		return nil // the client has gone
	}
	for {
		c, ok, err := stream.poll()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errDropped):
			w.BreakOff()
		case err != nil:
			return writeEvent(w, media, "ERROR", func() ([]byte, error) { return wire.Status(refusal.StatusOf(err), media.Protobuf) })
		case ok:
			if err := writeEvent(w, media, c.typ.String(), func() ([]byte, error) { return t.eventBody(c, media) }); err != nil {
				return err
			}
		default:
			if w.Flush() != nil || stream.wait(r.Context()) != nil {
				return nil // the client has gone
			}
		}
	}
}

// takesGzip reports whether a client asks for a compressed answer. As in the API server, weights do
// not count.
func takesGzip(r *http.Request) bool {
	for option := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		if strings.TrimSpace(option) == "gzip" {
			return true
		}
	}
	return false
}

func writeEvent(w *answer.Writer, m wire.Media, typ string, object func() ([]byte, error)) error {
	b, err := object()
	if err != nil {
		return err
	}
	frame, err := wire.WatchFrame(m, typ, b)
	if err != nil {
		return err
	}
	_, err = w.Write(frame)
	return err
}

func (t *table) eventBody(c watchEvent, m wire.Media) ([]byte, error) {
	if c.typ != reflector.Bookmark {
		return t.body(c.obj, m)
	}
	mark := metav1.PartialObjectMetadata{
		TypeMeta:   t.res.typeMeta(),
		ObjectMeta: metav1.ObjectMeta{ResourceVersion: formatRV(c.rv)},
	}
	if m.Form != wire.Whole {
		mark.TypeMeta = wire.PartialKind
	}
	if c.initialEnd {
		mark.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	if m.Protobuf { // the metadata is field 1 of every kind
		return wire.Envelope(mark.TypeMeta, mark.Marshal)
	}
	return json.Marshal(mark)
}
