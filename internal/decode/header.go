package decode

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// Header is the part of an object's JSON that identifies it.
type Header struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Namespace       string `json:"namespace"`
		Name            string `json:"name"`
		GenerateName    string `json:"generateName"`
		UID             string `json:"uid"`
		ResourceVersion string `json:"resourceVersion"`
		Annotations     struct {
			InitialEventsEnd string `json:"k8s.io/initial-events-end"`
		} `json:"annotations"`
	} `json:"metadata"`
}

// headerLimit is the number of bytes held of a member of an object over the limit.
const headerLimit = 4 << 10

// ScanStart reads the header from the beginning of an object's JSON, as far as that reaches.
func ScanStart(start []byte) Header {
	var h Header
	_ = h.read(NewJSON(bytes.NewReader(start), headerLimit))
	return h
}

// oversized reads the next value, which is over the limit, member by member.
func oversized(r *Reader) ([]byte, error) {
	var h Header
	if err := h.read(r); err != nil {
		return nil, err
	}
	return h.appendJSON(nil), ErrOverLimit
}

// read reads a whole value and, if it is an object, takes the identifying members from it.
// Members that are not strings or exceed the limit stay empty.
func (h *Header) read(r *Reader) error {
	return eachIfObject(r, func(name string) error {
		if name != "metadata" {
			return ReadIfText(r, h.member(name))
		}
		return eachIfObject(r, func(name string) error {
			if name != "annotations" {
				return ReadIfText(r, h.metaMember(name))
			}
			return eachIfObject(r, func(name string) error { return ReadIfText(r, h.annotation(name)) })
		})
	})
}

// member returns the place for a member of the object, or nil if it is not kept.
func (h *Header) member(name string) *string {
	switch name {
	case "apiVersion":
		return &h.APIVersion
	case "kind":
		return &h.Kind
	}
	return nil
}

// metaMember is member for the members of the metadata.
func (h *Header) metaMember(name string) *string {
	switch name {
	case "name":
		return &h.Metadata.Name
	case "namespace":
		return &h.Metadata.Namespace
	case "uid":
		return &h.Metadata.UID
	case "resourceVersion":
		return &h.Metadata.ResourceVersion
	}
	return nil
}

// annotation is member for the annotations.
func (h *Header) annotation(name string) *string {
	if name == "k8s.io/initial-events-end" {
		return &h.Metadata.Annotations.InitialEventsEnd
	}
	return nil
}

// appendJSON appends the header as an object that ScanStart reads.
func (h *Header) appendJSON(b []byte) []byte {
	member := func(before, text string) {
		b = append(b, before...)
		b, _ = jsontext.AppendQuote(b, text) // the only possible error is about invalid UTF-8
	}
	member(`{"apiVersion":`, h.APIVersion)
	member(`,"kind":`, h.Kind)
	member(`,"metadata":{"name":`, h.Metadata.Name)
	member(`,"namespace":`, h.Metadata.Namespace)
	member(`,"resourceVersion":`, h.Metadata.ResourceVersion)
	return append(b, "}}"...)
}
