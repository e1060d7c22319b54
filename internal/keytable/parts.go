package keytable

import "k8s.io/apimachinery/pkg/types"

// Parts splits a key into two strings that together hold all of it. It is nil for key types
// that are not a string or a pair of strings.
type Parts[K comparable] func(K) (a, b string)

// PartsOf returns the Parts of string and types.NamespacedName, and nil for any other K.
//
//go:noinline
func PartsOf[K comparable]() Parts[K] {
	for _, usual := range []any{
		func(k types.NamespacedName) (string, string) { return k.Namespace, k.Name },
		func(k string) (string, string) { return k, "" },
	} {
		if f, ok := usual.(func(K) (string, string)); ok {
			return f
		}
	}
	return nil
}

// Touch reads the bytes of key's strings and returns a value that depends on them, so that the
// compiler keeps the reads. Call it for many keys before hashing them: the loop is so short that
// the processor has many reads from memory under way at a time.
func Touch[K comparable](p Parts[K], key K) (x uint32) {
	if p == nil {
		return 0
	}
	a, b := p(key)
	for _, s := range [2]string{a, b} {
		if n := len(s); n > 0 {
			x ^= uint32(s[0]) ^ uint32(s[n-1])
		}
	}
	return x
}
