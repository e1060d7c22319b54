package client

import (
	"fmt"
	"strings"
)

// Encoding is the format of a server's answer, as a media type.
// (https://kubernetes.io/docs/reference/using-api/api-concepts/#alternate-representations-of-resources)
type Encoding string

const (
	// JSON is supported by every server for every resource.
	JSON Encoding = "application/json"

	// Protobuf is the Kubernetes protobuf encoding, which API servers support for built-in
	// resources. It takes about two thirds of the bytes of JSON and a third of the time. A
	// list in it is recognized by a kind that ends in "List". If it has another name, as it
	// may in an aggregated API, name the kind.
	Protobuf Encoding = "application/vnd.kubernetes.protobuf"
)

// chooseEncoding checks that T can be decoded from Options.Encoding. By default it chooses
// Protobuf.
func chooseEncoding(asked Encoding, protobuf error) (Encoding, error) {
	switch asked {
	case "":
		if protobuf != nil {
			return JSON, nil
		}
		return Protobuf, nil
	case Protobuf:
		if protobuf != nil {
			return "", fmt.Errorf("encoding %s: %w", asked, protobuf)
		}
		return asked, nil
	case JSON:
		return asked, nil
	}
	return "", fmt.Errorf("unknown encoding %q", asked)
}

// encodingOf returns the encoding named by a Content-Type header. Any other type is read as
// JSON, and refused with an excerpt if it is not JSON.
func encodingOf(contentType string) Encoding {
	media, _, _ := strings.Cut(contentType, ";")
	if strings.ToLower(strings.TrimSpace(media)) == string(Protobuf) {
		return Protobuf
	}
	return JSON
}
