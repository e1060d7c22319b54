package debug

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/internal/logs"
)

// keyText returns the text of a key. Keys that differ have texts that differ, if their String
// methods do: a backslash and everything that does not print are escaped as in Go.
func keyText(key any) string {
	return printable(logs.Key(key))
}

func printable(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case r == '\\':
			b.WriteString(`\\`)
		case strconv.IsPrint(r):
			b.WriteRune(r)
		default:
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
		}
		s = s[n:]
	}
	return b.String()
}

// parseKey returns the key whose text is text, if K is a type whose keys can be made.
func parseKey[K comparable](text string) (key K, ok bool) {
	if strings.Contains(text, `\`) {
		return key, false
	}
	switch to := any(&key).(type) {
	case *string:
		*to = text
		return key, true
	case *types.NamespacedName:
		if before, after, cut := strings.Cut(text, "/"); cut {
			*to = types.NamespacedName{Namespace: before, Name: after}
		} else {
			to.Name = text
		}
		return key, true
	}
	return key, false
}
