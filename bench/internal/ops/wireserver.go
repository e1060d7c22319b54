package ops

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
)

// wireServer answers as an API server that has pods, which only actions change. Its answers are made
// before the first request.
type wireServer struct {
	*httptest.Server
	streams bool // it knows the streaming list
	json    answers
	proto   answers
	meta    answers     // metadata only, in JSON
	events  chan []byte // encoded, for the watch
	relist  relistGate
	first   []byte // a list of the first pod, in JSON
}

// relistGate lets a measurement decide when a client lists again.
type relistGate struct {
	expire  chan struct{} // each value ends a watch; the next ones get 410 until the client has listed
	listing chan struct{} // gets a value when that list is asked for
	proceed chan struct{} // answers it
	expired atomic.Bool
}

// answers are bodies in one encoding.
type answers struct {
	mediaType, streamType string
	list, initial         []byte
}

// start lets s serve.
func (s *wireServer) start() {
	s.events = make(chan []byte)
	s.relist.expire, s.relist.listing, s.relist.proceed = make(chan struct{}), make(chan struct{}), make(chan struct{})
	s.Server = httptest.NewServer(s)
}

func newWireServer(all *corev1.PodList, streams bool) (*wireServer, error) {
	var err error
	s := &wireServer{streams: streams}
	s.json = answers{mediaType: "application/json", streamType: "application/json"}
	s.proto = answers{mediaType: protobufType, streamType: protobufType + ";stream=watch"}
	for _, a := range []*answers{&s.json, &s.proto} {
		if err = a.encode(all, streams); err != nil {
			return nil, err
		}
	}
	if s.meta, err = metadataOf(all); err != nil {
		return nil, err
	}
	first := answers{mediaType: "application/json"}
	if err = first.encode(&corev1.PodList{ListMeta: all.ListMeta, Items: all.Items[:1]}, false); err != nil {
		return nil, err
	}
	s.first = first.list
	s.start()
	return s, nil
}

// metadataOf makes the answers to requests for metadata.
func metadataOf(all *corev1.PodList) (a answers, err error) {
	kind := func(name string) metav1.TypeMeta {
		return metav1.TypeMeta{Kind: name, APIVersion: metav1.SchemeGroupVersion.String()}
	}
	a = answers{mediaType: "application/json", streamType: "application/json"}
	list := metav1.PartialObjectMetadataList{TypeMeta: kind("PartialObjectMetadataList"), ListMeta: all.ListMeta}
	for i := range all.Items {
		list.Items = append(list.Items, metav1.PartialObjectMetadata{TypeMeta: kind("PartialObjectMetadata"), ObjectMeta: all.Items[i].ObjectMeta})
	}
	if a.list, err = json.Marshal(list); err != nil {
		return a, err
	}
	a.initial, err = initialEvents(list.Items, metav1.PartialObjectMetadata{TypeMeta: kind("PartialObjectMetadata"), ObjectMeta: endOfList(all.ResourceVersion)})
	return a, err
}

// initialEvents encodes the events that a streaming list in JSON begins with.
func initialEvents[T any](items []T, end T) ([]byte, error) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	for i := range items {
		if err := encoder.Encode(map[string]any{"type": "ADDED", "object": &items[i]}); err != nil {
			return nil, err
		}
	}
	err := encoder.Encode(map[string]any{"type": "BOOKMARK", "object": &end})
	return body.Bytes(), err
}

// endOfList is the metadata of the bookmark that ends a streaming list.
func endOfList(version string) metav1.ObjectMeta {
	return metav1.ObjectMeta{ResourceVersion: version, Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}
}

// encode makes the body that the server will be asked for: the other stays empty.
func (a *answers) encode(all *corev1.PodList, streams bool) error {
	encoder := scheme.Codecs.EncoderForVersion(serializerFor(a.mediaType).Serializer, corev1.SchemeGroupVersion)
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
	if err := send(watch.Bookmark, &corev1.Pod{ObjectMeta: endOfList(all.ResourceVersion)}); err != nil {
		return err
	}
	a.initial = body.Bytes()
	return nil
}

func serializerFor(mediaType string) runtime.SerializerInfo {
	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), mediaType)
	return info
}

// eventEncoder returns a function that appends an event of a watch to body.
func eventEncoder(body *bytes.Buffer, mediaType string) func(watch.EventType, *corev1.Pod) error {
	info := serializerFor(mediaType)
	frames := info.StreamSerializer.Framer.NewFrameWriter(body)
	events := streaming.NewEncoder(frames, scheme.Codecs.EncoderForVersion(info.StreamSerializer.Serializer, corev1.SchemeGroupVersion))
	objects := scheme.Codecs.EncoderForVersion(info.StreamSerializer.Serializer, corev1.SchemeGroupVersion)
	if mediaType == protobufType {
		// An object in an event has its own envelope.
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
	switch {
	case strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata") && s.meta.list != nil:
		a = &s.meta
	case wantsProtobuf(r) && s.proto.mediaType != "":
		a = &s.proto
	}
	query := r.URL.Query()
	if query.Get("watch") == "" {
		if query.Get("limit") == "1" { // kinform asks whether the server has gone back in time
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(s.first)
			return
		}
		if s.relist.expired.Load() {
			s.relist.listing <- struct{}{}
			<-s.relist.proceed
			s.relist.expired.Store(false)
		}
		w.Header().Set("Content-Type", a.mediaType)
		_, _ = w.Write(a.list)
		return
	}
	initial := query.Get("sendInitialEvents") == "true"
	if initial && !s.streams {
		refuse(w, http.StatusUnprocessableEntity, "Invalid", `ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: `+
			`sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled`)
		return
	}
	if s.relist.expired.Load() {
		refuse(w, http.StatusGone, "Expired", "too old resource version")
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
		case <-s.relist.expire:
			s.relist.expired.Store(true)
			return
		case <-r.Context().Done():
			return
		}
	}
}

// refuse answers with a Status. message is text of a JSON string.
func refuse(w http.ResponseWriter, code int, reason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":"%s"}`, reason, code, message)
}
