package keytable

import "k8s.io/apimachinery/pkg/types"

// Parts tells the two strings that a key is, and is nothing more than. It is nil when keys
// are no pairs of strings.
type Parts[K comparable] func(K) (a, b string)

// PartsOf returns the Parts of the usual types of keys, or nil.
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

// Touch reads what key refers to, as far as that is known, and returns something that depends
// on it. Who will hash many keys touches all of them first: that takes so few instructions
// each that the processor waits for many reads from memory at a time.
func (p Parts[K]) Touch(key K) (x uint32) {
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
