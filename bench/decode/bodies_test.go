package decode

import (
	"bytes"
	"io"
	"reflect"
	"strconv"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/client-go/kubernetes/scheme"
	restwatch "k8s.io/client-go/rest/watch"
)

// encodings are those that client-go can ask for.
var encodings = []struct{ name, mediaType string }{
	{"json", runtime.ContentTypeJSON},
	{"protobuf", runtime.ContentTypeProtobuf},
}

// watchType is the content type of a watch.
func watchType(mediaType string) string {
	if mediaType == runtime.ContentTypeProtobuf {
		return mediaType + ";stream=watch"
	}
	return mediaType
}

// codecs is client-go's way to encodings.
var codecs = sync.OnceValue(func() runtime.NegotiatedSerializer {
	return serializer.NewCodecFactory(scheme.Scheme).WithoutConversion()
})

func negotiator(gvk schema.GroupVersionKind) runtime.ClientNegotiator {
	return runtime.NewClientNegotiator(codecs(), gvk.GroupVersion())
}

// encode returns an object as an API server sends it.
func encode(t testing.TB, gvk schema.GroupVersionKind, mediaType string, object runtime.Object) []byte {
	t.Helper()
	encoder, err := negotiator(gvk).Encoder(mediaType, nil)
	if err != nil {
		t.Fatal(err)
	}
	data, err := runtime.Encode(encoder, object)
	if err != nil {
		t.Fatalf("%v as %s: %v", gvk, mediaType, err)
	}
	return data
}

// eventsBody is a watch with an ADDED event for each of the objects.
func eventsBody(t testing.TB, gvk schema.GroupVersionKind, mediaType string, objects []runtime.Object) []byte {
	t.Helper()
	info, ok := runtime.SerializerInfoForMediaType(codecs().SupportedMediaTypes(), mediaType)
	if !ok {
		t.Fatal("no " + mediaType)
	}
	var body bytes.Buffer
	frames := info.StreamSerializer.NewFrameWriter(&body)
	events := streaming.NewEncoder(frames, codecs().EncoderForVersion(info.StreamSerializer.Serializer, gvk.GroupVersion()))
	for _, object := range objects {
		raw := encode(t, gvk, mediaType, object)
		if err := events.Encode(&metav1.WatchEvent{Type: "ADDED", Object: runtime.RawExtension{Raw: raw}}); err != nil {
			t.Fatal(err)
		}
	}
	return body.Bytes()
}

// clientGoEvents decodes a body like Watch of a typed client (rest.Request.Watch), without
// the goroutine and the channel.
func clientGoEvents(gvk schema.GroupVersionKind, mediaType string, body []byte) ([]runtime.Object, error) {
	objects, events, framer, err := negotiator(gvk).StreamDecoder(mediaType, nil)
	if err != nil {
		return nil, err
	}
	frames := framer.NewFrameReader(io.NopCloser(bytes.NewReader(body)))
	decoder := restwatch.NewDecoder(streaming.NewDecoder(frames, events), objects)
	defer decoder.Close()
	var out []runtime.Object
	for {
		_, object, err := decoder.Decode()
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, object)
	}
}

// randomObjects returns a few objects of a type, with what every object from a server has.
func randomObjects(o objectType) []runtime.Object {
	var out []runtime.Object
	for seed := *firstSeed; seed < *firstSeed+*seeds; seed++ {
		object := reflect.New(o.typ).Interface().(runtime.Object)
		filler(seed).Fill(object)
		named := object.(metav1.Object)
		named.SetName("object-" + strconv.FormatInt(seed, 10))
		named.SetResourceVersion(strconv.FormatInt(1000+seed, 10))
		object.GetObjectKind().SetGroupVersionKind(o.gvk)
		out = append(out, object)
	}
	return out
}

// listOf returns the list of some objects, or nil if the scheme has no such list.
func listOf(t testing.TB, gvk schema.GroupVersionKind, objects []runtime.Object) runtime.Object {
	t.Helper()
	all, err := scheme.Scheme.New(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	if err != nil {
		return nil
	}
	if err := meta.SetList(all, objects); err != nil {
		t.Fatal(err)
	}
	all.(metav1.ListInterface).SetResourceVersion("5000")
	return all
}
