package fake

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/fake/internal/refusal"
	"github.com/kinform/kinform/fake/internal/wire"
	"github.com/kinform/kinform/reflector"
)

// serveWatch writes events as they come, flushed whenever the stream runs dry.
func (t *table[T]) serveWatch(w *response, r *http.Request, req request, opts metav1.ListOptions, media wire.Media, f *faults.Fault) error {
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
	w.begin(http.StatusOK, media.WatchType())
	if err := w.flush(); err != nil {
		return nil // the client has gone
	}
	for {
		c, ok, err := stream.poll()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errDropped):
			w.breakOff()
		case err != nil:
			return writeEvent(w, media, "ERROR", func() ([]byte, error) { return statusBody(refusal.StatusOf(err), media) })
		case ok:
			if err := writeEvent(w, media, c.typ.String(), func() ([]byte, error) { return t.eventBody(c, media) }); err != nil {
				return err
			}
		default:
			if w.flush() != nil || stream.wait(r.Context()) != nil {
				return nil // the client has gone
			}
		}
	}
}

func writeEvent(w *response, m wire.Media, typ string, object func() ([]byte, error)) error {
	b, err := object()
	if err != nil {
		return err
	}
	if m.Protobuf {
		frame, err := wire.WatchFrame(typ, b)
		if err != nil {
			return err
		}
		_, err = w.buf.Write(frame)
		return err
	}
	frame := make([]byte, 0, len(b)+len(typ)+len(`{"type":"","object":}`)+1)
	frame = append(append(frame, `{"type":"`...), typ...)
	frame = append(append(frame, `","object":`...), b...)
	_, err = w.buf.Write(append(frame, "}\n"...))
	return err
}

func statusBody(st metav1.Status, m wire.Media) ([]byte, error) {
	if m.Protobuf {
		return wire.Envelope(statusKind, st.Marshal)
	}
	return json.Marshal(st)
}

func (t *table[T]) eventBody(c change[T], m wire.Media) ([]byte, error) {
	if c.typ != reflector.Bookmark {
		return t.body(c.obj, m)
	}
	mark := metav1.PartialObjectMetadata{
		TypeMeta:   t.res.typeMeta(),
		ObjectMeta: metav1.ObjectMeta{ResourceVersion: formatRV(c.rv)},
	}
	if m.Form != wire.Whole {
		mark.TypeMeta = partialKind
	}
	if c.initialEnd {
		mark.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	if m.Protobuf { // the metadata is field 1 of every kind
		return wire.Envelope(mark.TypeMeta, mark.Marshal)
	}
	return json.Marshal(mark)
}
