package decode

import (
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/kinform/kinform/internal/kubeproto"
)

// shareText returns the shared string for a raw JSON string.
func shareText(shared *kubeproto.Strings, raw []byte) string {
	text, _ := Text(raw)
	if !utf8.Valid(text) {
		text, _ = jsontext.AppendUnquote(nil, raw)
	}
	return shared.Get(text)
}
