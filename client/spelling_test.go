package client_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// encoded is how a server writes objects in one encoding. Each object is at version 5 and has a color
// as a label and in its spec.
type encoded struct {
	contentType, stream string
	ways                []string // to write an object with other bytes
	object              func(t testing.TB, way, name, color string) []byte
	list                func(t testing.TB, version int, objects [][]byte) []byte
	event               func(t testing.TB, kind string, object []byte) []byte
	bookmark            func(t testing.TB, version int) []byte
	gone                func(t testing.TB) []byte // an event
}

func endJSON(version int) string { return strings.Replace(initialJSON, "21", fmt.Sprint(version), 1) }

// spelt is an object in JSON.
func spelt(way, name, color string) string {
	switch way {
	case "order":
		return fmt.Sprintf(`{"kind":"Widget","spec":{"color":%q,"size":1},"metadata":{"labels":{"b":"2","a":%[1]q},"uid":%q,"resourceVersion":"5","namespace":"ns","name":%[2]q},"apiVersion":"example.com/v1"}`, color, name)
	case "spaces":
		return strings.NewReplacer(":", ": ", ",", ",\n\t").Replace(spelt("", name, color))
	case "escapes":
		return strings.ReplaceAll(spelt("", name, color), "size", `si\u007ae`)
	}
	return fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":%q,"namespace":"ns","uid":%[1]q,"resourceVersion":"5","labels":{"a":%[2]q,"b":"2"}},"spec":{"size":1,"color":%[2]q}}`, name, color)
}

var encodedJSON = encoded{
	contentType: "application/json", stream: "application/json", ways: []string{"order", "spaces", "escapes"},
	object: func(_ testing.TB, way, name, color string) []byte { return []byte(spelt(way, name, color)) },
	list: func(_ testing.TB, version int, objects [][]byte) []byte {
		var items []string
		for _, object := range objects {
			items = append(items, string(object))
		}
		return fmt.Appendf(nil, `{"kind":"WidgetList","apiVersion":"example.com/v1","metadata":{"resourceVersion":"%d"},"items":[%s]}`, version, strings.Join(items, ","))
	},
	event: func(_ testing.TB, kind string, object []byte) []byte {
		return []byte(eventJSON(kind, string(object)))
	},
	bookmark: func(_ testing.TB, version int) []byte { return []byte(endJSON(version)) },
	gone:     func(testing.TB) []byte { return []byte(eventJSON("ERROR", goneJSON)) },
}

// encodedProtobuf has metadata only. An object is its message, without an envelope.
var encodedProtobuf = encoded{
	contentType: "application/vnd.kubernetes.protobuf", stream: "application/vnd.kubernetes.protobuf;stream=watch", ways: []string{"order"},
	object: func(t testing.TB, way, name, color string) []byte {
		o := partialWidget(name, "5")
		o.UID, o.Labels = types.UID(name), map[string]string{"a": color, "b": "2"}
		if way == "" {
			return done(t)(o.Marshal())
		}
		fields := fieldsOf(t, done(t)(o.ObjectMeta.Marshal()))
		slices.Reverse(fields)
		return fieldOf(1, slices.Concat(fields...))
	},
	list: func(t testing.TB, version int, objects [][]byte) []byte {
		raw := done(t)((&metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: fmt.Sprint(version)}}).Marshal())
		for _, object := range objects {
			raw = append(raw, fieldOf(2, object)...)
		}
		return protobufObject(t, "example.com/v1", "WidgetList", rawMessage(raw))
	},
	event: func(t testing.TB, kind string, object []byte) []byte {
		return protobufEvent(t, kind, protobufObject(t, "example.com/v1", "Widget", rawMessage(object)))
	},
	bookmark: func(t testing.TB, version int) []byte {
		end := partialWidget("", fmt.Sprint(version))
		end.Namespace, end.Annotations = "", map[string]string{metav1.InitialEventsAnnotationKey: "true"}
		return done(t)(end.Marshal())
	},
	gone: func(t testing.TB) []byte {
		return protobufEvent(t, "ERROR", protobufObject(t, "v1", "Status", &metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonExpired, Code: 410}))
	},
}

func done(t testing.TB) func([]byte, error) []byte {
	return func(raw []byte, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
}

// fieldOf is a message as the field of another one, by its number below 16.
func fieldOf(number byte, raw []byte) []byte {
	return append(binary.AppendUvarint([]byte{number<<3 | 2}, uint64(len(raw))), raw...)
}

// fieldsOf splits a message whose fields are messages, texts or numbers.
func fieldsOf(t testing.TB, raw []byte) (fields [][]byte) {
	t.Helper()
	for len(raw) > 0 {
		tag, n := binary.Uvarint(raw)
		value, m := binary.Uvarint(raw[n:])
		size := n + m
		if tag&7 == 2 {
			size += int(value)
		} else if tag&7 != 0 {
			t.Fatalf("field %#x", tag)
		}
		fields, raw = append(fields, raw[:size]), raw[size:]
	}
	return fields
}
