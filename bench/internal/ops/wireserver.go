package ops

import (
	"bytes"
	"net/http"
	"net/http/httptest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinform/kinform/bench/internal/pods"
)

// wireServer answers as an API server that has pods and in which nothing happens. Its
// answers are made before the first request.
type wireServer struct {
	*httptest.Server
	pods    int
	streams bool // it knows the streaming list
	json    answers
	proto   answers
	events  chan []byte // encoded, for the watch; nil if there will be none
}

// answers are bodies in one encoding.
type answers struct {
	mediaType, streamType string
	list, initial         []byte
}

func newWireServer(n int, streams bool) (*wireServer, error) {
	all := pods.List(n)
	s := &wireServer{pods: n, streams: streams}
	s.json = answers{mediaType: "application/json", streamType: "application/json"}
	s.proto = answers{mediaType: protobufType, streamType: protobufType + ";stream=watch"}
	for _, a := range []*answers{&s.json, &s.proto} {
		if err := a.encode(all, streams); err != nil {
			return nil, err
		}
	}
	s.Server = httptest.NewServer(s)
	return s, nil
}

// encode makes the body that the server will be asked for: the other stays empty.
func (a *answers) encode(all *corev1.PodList, streams bool) error {
	encoder := scheme.Codecs.EncoderForVersion(serializer(a.mediaType).Serializer, corev1.SchemeGroupVersion)
	var err error
	if !streams {
		a.list, err = runtime.Encode(encoder, all)
		return err
	}
	var body bytes.Buffer
	send := eventEncoder(&body, a.mediaType)
	for i := range all.Items {
		if err := send(watch.Added, &all.Items[i]); err != nil {
			return err
		}
	}
	end := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		ResourceVersion: all.ResourceVersion,
		Annotations:     map[string]string{metav1.InitialEventsAnnotationKey: "true"},
	}}
	if err := send(watch.Bookmark, end); err != nil {
		return err
	}
	a.initial = body.Bytes()
	return nil
}

func serializer(mediaType string) runtime.SerializerInfo {
	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), mediaType)
	return info
}

// eventEncoder returns a function that appends an event of a watch to body.
func eventEncoder(body *bytes.Buffer, mediaType string) func(watch.EventType, *corev1.Pod) error {
	info := serializer(mediaType)
	frames := info.StreamSerializer.Framer.NewFrameWriter(body)
	events := streaming.NewEncoder(frames, scheme.Codecs.EncoderForVersion(info.StreamSerializer.Serializer, corev1.SchemeGroupVersion))
	objects := scheme.Codecs.EncoderForVersion(info.StreamSerializer.Serializer, corev1.SchemeGroupVersion)
	if mediaType == protobufType {
		// An object in an event has an envelope of its own.
		objects = scheme.Codecs.EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion)
	}
	return func(typ watch.EventType, p *corev1.Pod) error {
		raw, err := runtime.Encode(objects, p)
		if err != nil {
			return err
		}
		return events.Encode(&metav1.WatchEvent{Type: string(typ), Object: runtime.RawExtension{Raw: raw}})
	}
}

// ServeHTTP implements http.Handler.
func (s *wireServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := &s.json
	if wantsProtobuf(r) {
		a = &s.proto
	}
	query := r.URL.Query()
	if query.Get("watch") == "" {
		w.Header().Set("Content-Type", a.mediaType)
		_, _ = w.Write(a.list)
		return
	}
	initial := query.Get("sendInitialEvents") == "true"
	if initial && !s.streams {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422,` +
			`"message":"ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"}`))
		return
	}
	w.Header().Set("Content-Type", a.streamType)
	if initial {
		_, _ = w.Write(a.initial)
	}
	for {
		w.(http.Flusher).Flush()
		select {
		case raw := <-s.events:
			_, _ = w.Write(raw)
		case <-r.Context().Done():
			return
		}
	}
}
