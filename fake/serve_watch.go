package fake

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/reflector"
)

// serveWatch writes events as they come, flushed whenever the stream runs dry.
func (t *table[T]) serveWatch(w *response, r *http.Request, req request, opts metav1.ListOptions, media mediaForm, f *Fault) error {
	m, err := Selection{Namespace: req.namespace}.matcher(opts)
	if err != nil {
		return err
	}
	stream, err := t.watch(m, opts)
	if err != nil {
		return err
	}
	defer stream.close()
	cut := -1
	if f != nil {
		stream.silent = f.Silent
		if f.CutEvents > 0 {
			cut = f.CutEvents
		}
	}
	w.begin(http.StatusOK, "application/json")
	if err := w.flush(); err != nil {
		return nil // the client has gone
	}
	for sent := 0; ; {
		if sent == cut {
			w.breakOff()
		}
		c, ok, err := stream.poll()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errDropped):
			w.breakOff()
		case err != nil:
			return writeEvent(w, "ERROR", func() ([]byte, error) { return json.Marshal(asStatus(err)) })
		case ok:
			sent++
			if err := writeEvent(w, c.typ.String(), func() ([]byte, error) { return t.eventBody(c, media) }); err != nil {
				return err
			}
		default:
			if w.flush() != nil || stream.wait(r.Context()) != nil {
				return nil // the client has gone
			}
		}
	}
}

func writeEvent(w *response, typ string, object func() ([]byte, error)) error {
	b, err := object()
	if err != nil {
		return err
	}
	frame := make([]byte, 0, len(b)+len(typ)+len(`{"type":"","object":}`)+1)
	frame = append(append(frame, `{"type":"`...), typ...)
	frame = append(append(frame, `","object":`...), b...)
	_, err = w.buf.Write(append(frame, "}\n"...))
	return err
}

func (t *table[T]) eventBody(c change[T], media mediaForm) ([]byte, error) {
	if c.typ != reflector.Bookmark {
		return t.body(c.obj, media)
	}
	mark := metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{Kind: t.res.Kind, APIVersion: t.res.groupVersion().String()},
		ObjectMeta: metav1.ObjectMeta{ResourceVersion: formatRV(c.rv)},
	}
	if media == mediaPartial {
		mark.TypeMeta = metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: metav1.SchemeGroupVersion.String()}
	}
	if c.initialEnd {
		mark.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	return json.Marshal(mark)
}
