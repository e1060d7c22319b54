package fake

import (
	"encoding/binary"
	"encoding/hex"

	"k8s.io/apimachinery/pkg/types"
)

// uidOf makes a UID in the form of RFC 9562 that is the same in every run of a test. rv is the
// resourceVersion of the create, with the number of restores in its highest 16 bits, so that
// no two objects share it. The last twelve digits of the UID are its own. The first ones are
// mixed, so that the hash of UIDs spreads over shards.
func uidOf(rv uint64) types.UID {
	// The finalizer of SplitMix64, which maps no two numbers to one.
	mixed := rv * 0x9e3779b97f4a7c15
	mixed = (mixed ^ mixed>>30) * 0xbf58476d1ce4e5b9
	mixed = (mixed ^ mixed>>27) * 0x94d049bb133111eb
	mixed ^= mixed >> 31

	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:8], mixed)
	binary.BigEndian.PutUint64(raw[8:], rv)
	raw[6] = raw[6]&0x0f | 0x40 // version 4
	raw[8] = raw[8]&0x3f | 0x80 // the variant of the RFC
	var text [36]byte
	for i, g := range [][3]int{{0, 4, 0}, {4, 6, 9}, {6, 8, 14}, {8, 10, 19}, {10, 16, 24}} {
		if i > 0 {
			text[g[2]-1] = '-'
		}
		hex.Encode(text[g[2]:], raw[g[0]:g[1]])
	}
	return types.UID(text[:])
}

// reserveUID returns a uid for an object that needs one before it is stored. A refusal or a dry run
// uses one up.
func (s *Server) reserveUID() types.UID {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reserved++
	return uidOf(s.restores<<48 | 1<<47 | s.reserved)
}
