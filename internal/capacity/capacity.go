// Package capacity decides when room that was made for a burst is dropped after the burst.
package capacity

const (
	// Little is the number of items for which room is always kept.
	Little = 64
	// Patience is how many times in a row room must be less than a quarter full to be dropped.
	Patience = 16
)

// Meter follows how full the room of one buffer was. The owner of the buffer owns it, too. The zero
// value has seen nothing.
type Meter struct{ tooLarge int }

// TooLarge reports whether room for so many items is to be dropped, now that used of them were
// needed. It is called once each time that the room has been used.
func (m *Meter) TooLarge(room, used int) bool {
	if room <= Little || room <= 4*used {
		m.tooLarge = 0
	} else {
		m.tooLarge++
	}
	return m.tooLarge == Patience
}
