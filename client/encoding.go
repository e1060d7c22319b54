package client

import "strings"

// encoding is the format of a server's answer, as a media type.
// (https://kubernetes.io/docs/reference/using-api/api-concepts/#alternate-representations-of-resources)
type encoding string

const (
	// inJSON is supported by every server for every resource.
	inJSON encoding = "application/json"

	// inProtobuf is the Kubernetes protobuf encoding, which API servers support for built-in
	// resources. It takes about two thirds of the bytes of JSON and a third of the time. A
	// list in it is recognized by a kind that ends in "List".
	inProtobuf encoding = "application/vnd.kubernetes.protobuf"
)

// encodingOf returns the encoding named by a Content-Type header. Any other type is read as
// JSON, and refused with an excerpt if it is not JSON.
func encodingOf(contentType string) encoding {
	media, _, _ := strings.Cut(contentType, ";")
	if strings.ToLower(strings.TrimSpace(media)) == string(inProtobuf) {
		return inProtobuf
	}
	return inJSON
}
