package client_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	cbor "k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"

	"github.com/kinform/kinform/client"
)

// bodiesOf answers every request with the same body.
func bodiesOf(contentType string, body []byte) client.Connection {
	return transport(func(*http.Request) (*http.Response, error) {
		resp := response(bytes.NewReader(body))
		resp.Header.Set("Content-Type", contentType)
		return resp, nil
	}).connection()
}

// cborList is a list with one item, of which x is a field, in CBOR that is written by hand.
func cborList(items ...string) []byte {
	return []byte("\xd9\xd9\xf7\xa4\x44kind\x4aWidgetList\x4aapiVersion\x4eexample.com/v1\x48metadata\xa1\x4fresourceVersion\x41" +
		"5\x45items" + string(rune(0x80 + len(items)))[1:] + strings.Join(items, ""))
}

func cborItem(x string) string {
	return "\xa2\x48metadata\xa1\x44name\x41a\x41x" + x
}

// Every kind of value, against apimachinery's decoder.
func TestCBORValues(t *testing.T) {
	for _, x := range []string{
		"\x00", "\x17", "\x18\xff", "\x19\xff\xff", "\x1a\xff\xff\xff\xff", "\x1b\x7f\xff\xff\xff\xff\xff\xff\xff",
		"\x20", "\x38\xff", "\x3b\x7f\xff\xff\xff\xff\xff\xff\xff",
		"\x40", "\x45hello", "\x65hello", "\x45a\"\\\n\x00", "\x63\xe2\x82\xac", "\x5f\x42ab\x41c\xff", "\x7f\x61a\xff", "\x5f\xff",
		"\xd6\x43\x00\x01\x02", "\xd5\x43\xff\xff\xff", "\xd7\x42\xab\xcd", "\xd9\xd9\xf7\x01", "\xd8\x63\x41a",
		"\x80", "\x83\x01\x02\x03", "\x9f\x01\x41a\xff", "\x9f\xff", "\x98\x02\x01\x02",
		"\xa0", "\xa1\x41a\x01", "\xbf\x41a\x01\xff", "\xbf\xff", "\xa1\x61b\xa1\x61c\x80",
		"\xf4", "\xf5", "\xf6",
		// Times.
		"\xc0\x742013-03-21T20:04:00Z", "\xc0\x78\x192013-03-21T20:04:00+02:00", "\xc0\x78\x1e2013-03-21T20:04:00.123456789Z",
		"\xc0\x78\x182013-03-21T20:04:00.500Z", "\xc1\x1a\x51\x4b\x67\xb0", "\xc1\xfb\x41\xd4\x52\xd9\xec\x20\x00\x00",
		"\xc1\x20", "\xc1\x00", "\xc1\x3a\x51\x4b\x67\xb0", "\xc1\xf9\x3e\x00", "\xc1\xf9\xbe\x00", "\xc1\xfb\x3f\xb9\x99\x99\x99\x99\x99\x9a", "\xd9\xd9\xf7\xc1\x01",
		"\xd6\xc1\x01", "\xc1\xfb\x42\x00\x00\x00\x00\x00\x00\x00",
		// Tags of tags, and tags that say nothing about what they mark.
		"\xd6\x61a", "\xd5\x41a", "\xd6\x01", "\xd6\x80", "\xd6\xd5\x41a", "\xd5\xd6\x41a", "\xd5\xd8\x63\x41a", "\xd8\x63\xd5\x41a",
		"\xd6\x5f\x41a\xff", "\xc4\x82\x01\x02", "\xa1\xd6\x41a\x01", "\xa1\xd7\x41a\x01", "\xa1\xd8\x63\x41a\x01",
		"\xf9\x3c\x00", "\xf9\x3e\x00", "\xf9\x00\x01", "\xf9\x04\x00", "\xf9\x80\x00", "\xfa\x47\xc3\x50\x00", "\xfa\x7f\x7f\xff\xff",
		"\xfb\x3f\xf1\x99\x99\x99\x99\x99\x9a", "\xfb\x7e\x37\xe4\x3c\x88\x00\x75\x9c", "\xfb\x00\x00\x00\x00\x00\x00\x00\x01",
	} {
		t.Run(fmt.Sprintf("%x", x), func(t *testing.T) {
			var want any
			if err := cbor.Unmarshal([]byte(x), &want); err != nil {
				t.Fatal(err)
			}
			r := newResource[*unstructured.Unstructured](t, bodiesOf("application/cbor", cborList(cborItem(x))), client.Options{})
			got := list(t.Context(), r, metav1.ListOptions{})
			if got.err != nil || got.errs != nil || len(got.events) != 1 {
				t.Fatal(got.err, got.errs)
			}
			if d := cmp.Diff(want, got.events[0].Object.Object["x"]); d != "" {
				t.Error(d)
			}
		})
	}
}

// What apimachinery's decoder refuses costs one object.
func TestCBORFaults(t *testing.T) {
	for x, text := range map[string]string{
		"\xf9\x7e\x00":                     "NaN",
		"\xfa\x7f\x80\x00\x00":             "infinity",
		"\xc2\x41\x01":                     "bignum",
		"\xc3\x41\x01":                     "bignum",
		"\xc0\x61a":                        "cannot parse",
		"\xc0\x60":                         "cannot parse",
		"\xc0\x01":                         "got positive integer",
		"\xc0\xf6":                         "got primitives",
		"\xc0\x542013-03-21T20:04:00Z":     "got byte string",
		"\xc0\xc0\x742013-03-21T20:04:00Z": "got tag",
		"\xc1\x61a":                        "got UTF-8 text string",
		"\xc1\x80":                         "got array",
		"\xc1\xf6":                         "got primitives",
		"\xc1\xd9\xd9\xf7\x01":             "got tag",
		"\xc1\xf9\x7e\x00":                 "NaN",
		"\xc1\x1b\xff\xff\xff\xff\xff\xff\xff\xff": "overflows",
		"\xc1\x1b\x7f\xff\xff\xff\xff\xff\xff\xff": "year",
		"\x1b\xff\xff\xff\xff\xff\xff\xff\xff":     "overflows",
		"\xe0":                                     "simple value 0",
		"\xf0":                                     "simple value 16",
		"\xf8\x20":                                 "simple value 32",
		"\x61\xff":                                 "invalid UTF-8",
		"\x7f\x61\xe2\x62\x82\xac\xff":             "invalid UTF-8",
		"\xf7":                                     "simple value 23",
		"\xf8\xff":                                 "simple value 255",
		"\xa1\x01\x02":                             "type string",
		"\xa1\xa1\x01\x02\x03":                     "type string",
		"\xa2\x41a\x01\x41a\x02":                   "duplicate",
	} {
		r := newResource[*unstructured.Unstructured](t, bodiesOf("application/cbor", cborList(cborItem("\x01"), cborItem(x), cborItem("\x02"))), client.Options{})
		got := list(t.Context(), r, metav1.ListOptions{})
		if got.err != nil || len(got.events) != 2 || len(got.errs) != 1 {
			t.Fatalf("%x: %+v", x, got)
		}
		if e := got.errs[0]; e.Key != "a" || !strings.Contains(e.Error(), text) || strings.Contains(e.Error(), "cbor:") {
			t.Errorf("%x: %v", x, e)
		}
		var v any
		if err := cbor.Unmarshal([]byte(x), &v); err == nil {
			t.Errorf("%x: apimachinery takes it: %v", x, v)
		}
	}
}

// What is no CBOR ends the call with an error that says where.
func TestCBORMalformed(t *testing.T) {
	for _, test := range []struct {
		body  string
		texts []string
	}{
		{"", []string{"empty body"}},
		{"<html>", []string{"<html>", "0x3c"}},
		{"\xff", []string{"a break"}},
		{"\xf6", []string{"JSON null"}},
		{string(cborList(cborItem("\xff"))), []string{"items[0]", "a break"}},
		{string(cborList(cborItem("\x1c"))), []string{"items[0]", "0x1c", "malformed CBOR at byte"}},
		{string(cborList(cborItem("\x1f"))), []string{"items[0]", "0x1f"}},
		{string(cborList(cborItem("\x5f\x61a\xff"))), []string{"items[0]", "something else"}},
		{string(cborList(cborItem("\x9b\xff\xff\xff\xff\xff\xff\xff\xff"))), []string{"items[0]", "bounds"}},
		{string(cborList(cborItem("\x5b\x7f\xff\xff\xff\xff\xff\xff\xff"))), []string{"items[0]", io.ErrUnexpectedEOF.Error()}},
		{string(cborList(cborItem(strings.Repeat("\x81", 10_001)))), []string{"items[0]", "nested"}},
		{string(cborList(cborItem("\x01"))) + "\x01", []string{"the end", "JSON number"}},
	} {
		r := newResource[*widget](t, bodiesOf("application/cbor", []byte(test.body)), client.Options{})
		got := list(t.Context(), r, metav1.ListOptions{})
		if got.err == nil {
			t.Errorf("%q: no error", test.body)
			continue
		}
		for _, text := range append(test.texts, "list widgets.example.com: ") {
			if !strings.Contains(got.err.Error(), text) {
				t.Errorf("%.100q: %v does not say %q", test.body, got.err, text)
			}
		}
	}
	r := newResource[*widget](t, bodiesOf("application/cbor-seq", []byte("\xa1\x44type\x45ADDED\xff")), client.Options{})
	if got := watch(t.Context(), r, metav1.ListOptions{}); !strings.Contains(got.err.Error(), "a break") || len(got.errs) != 1 {
		t.Error(got)
	}
	if got := list(t.Context(), r, metav1.ListOptions{}); errors.Is(got.err, io.EOF) {
		t.Error(got.err)
	}
}
