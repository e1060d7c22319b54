package assign

// Hash returns the hash of a text: FNV-1a, whose bits are then mixed, because FNV-1a alone hardly
// spreads texts that differ only in their last characters. All replicas must have the same, so it
// never changes.
func Hash(text string) uint64 {
	h := uint64(14695981039346656037)
	for n := range len(text) {
		h = (h ^ uint64(text[n])) * 1099511628211
	}
	// The finalizer of MurmurHash3 (public domain), which is a bijection.
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
