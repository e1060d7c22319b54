package debug

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/internal/keytext"
)

// keyText returns the text of a key. Keys that differ have texts that differ, if their String
// methods do.
func keyText(key any) string { return printable(keytext.Of(key)) }

// printable returns s without what does not print.
func printable(s string) string { return keytext.Printable(s) }

// parseKey returns the key whose text is text, if K is a type whose keys can be made.
func parseKey[K comparable](text string) (key K, ok bool) {
	if strings.Contains(text, `\`) {
		return key, false // an escape
	}
	switch to := any(&key).(type) {
	case *string:
		*to, ok = text, true
	case *types.NamespacedName:
		*to, ok = keytext.Parse(text)
	}
	return key, ok
}
