// Package keytext makes text of keys, and keys of text. It also has what other short texts for people need.
package keytext

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/types"
)

// Of returns a key as text for people. An object without a namespace has its name, without the
// slash of types.NamespacedName.
func Of(key any) string {
	if name, ok := key.(types.NamespacedName); ok {
		if name.Namespace == "" {
			return name.Name
		}
		return name.String()
	}
	return fmt.Sprint(key) // which contains panics
}

// Parse returns the key that text stands for: "namespace/name", or "name" or "/name" for an object
// without a namespace. Cost: no allocation.
func Parse(text string) (key types.NamespacedName, ok bool) {
	namespace, name, found := strings.Cut(text, "/")
	if !found {
		namespace, name = "", text
	}
	if name == "" || strings.Contains(name, "/") {
		return types.NamespacedName{}, false
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, true
}

// Resource returns the resource in the name of a collection, such as "pods" of "pods in namespace prod", and the rest of
// the name.
func Resource(name string) (resource, selection string) {
	resource, selection, _ = strings.Cut(name, " ")
	return resource, selection
}

// Short returns the first n bytes of s, in whole runes, and "…" if s is longer.
func Short(s string, n int) string {
	if len(s) > n {
		s = strings.ToValidUTF8(s[:n], "") + "…"
	}
	return s
}

// Printable returns s with a backslash, and everything that does not print, escaped as in Go. Texts
// that differ stay different.
func Printable(s string) string {
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

// As returns the key whose printable text is text, if K is a type whose keys can be made of text: a
// string or a types.NamespacedName.
func As[K comparable](text string) (key K, ok bool) {
	if strings.Contains(text, `\`) {
		return key, false // an escape
	}
	switch to := any(&key).(type) {
	case *string:
		*to, ok = text, true
	case *types.NamespacedName:
		*to, ok = Parse(text)
	}
	return key, ok
}

// Find returns the key whose printable text is text. One that [As] can make need not be among keys;
// for another one it looks at all of them.
func Find[K comparable](text string, keys iter.Seq[K]) (key K, ok bool) {
	if key, ok = As[K](text); ok {
		return key, true
	}
	for key = range keys {
		if Printable(Of(key)) == text {
			return key, true
		}
	}
	return *new(K), false
}

// Matches returns a function that reports whether text is the printable text of a key. It makes no
// text of the keys that [As] can make.
func Matches[K comparable](text string) func(K) bool {
	if key, ok := As[K](text); ok {
		return func(k K) bool { return k == key }
	}
	return func(k K) bool { return Printable(Of(k)) == text }
}
