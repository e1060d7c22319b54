package deltafifo

import "github.com/kinform/kinform/internal/keytable"

// numbers is the part of [Objects] that knows objects by their numbers only.
type numbers struct {
	versions []string // of the objects, by number; nil if all are empty
	sums     []uint64 // as versions
	packed   []string // what the objects are packed into; as versions
	n        int
	found    int  // objects below this number are in at; later ones may repeat keys
	unknown  bool // perhaps not all objects carry their versions

	at      keytable.Table // numbers of the objects, by hash of the key
	touched uint32         // keeps reads ahead from being optimized away
}

// addNumber adds the last object.
func addNumber(l *numbers, version string, sum uint64, packed string) {
	addText(&l.versions, l.n, version)
	addText(&l.packed, l.n, packed)
	if sum != 0 && l.sums == nil {
		l.sums = make([]uint64, l.n, l.n+1)
	}
	if l.sums != nil {
		l.sums = append(l.sums, sum)
	}
	l.n++
}

// addText adds the text of object n to a column.
func addText(column *[]string, n int, text string) {
	if text != "" && *column == nil {
		*column = make([]string, n, n+1)
	}
	if *column != nil {
		*column = append(*column, text)
	}
}

// copyNumber gives another object what object n has.
func copyNumber(l *numbers, other, n int) {
	for _, column := range [...][]string{l.versions, l.packed} {
		if column != nil {
			column[other] = column[n]
		}
	}
	if l.sums != nil {
		l.sums[other] = l.sums[n]
	}
}

// dropNumber removes the last object.
func dropNumber(l *numbers) {
	l.n--
	for _, column := range [...]*[]string{&l.versions, &l.packed} {
		if *column != nil {
			(*column)[l.n] = ""
			*column = (*column)[:l.n]
		}
	}
	if l.sums != nil {
		l.sums = l.sums[:l.n]
	}
}

// versionAt returns the version of an object.
func versionAt(l *numbers, n int) string { return textAt(l.versions, n) }

// packedAt returns what an object is packed into, "" if it is not packed.
func packedAt(l *numbers, n int) string { return textAt(l.packed, n) }

func textAt(column []string, n int) string {
	if column == nil {
		return ""
	}
	return column[n]
}

// sumAt returns the sum of an object; zero if it is not known.
func sumAt(l *numbers, n int) uint64 {
	if l.sums == nil {
		return 0
	}
	return l.sums[n]
}

// readAhead reads what the table has under the hashes from memory.
func readAhead(l *numbers, hashes []uint32) {
	for _, hash := range hashes {
		var p keytable.Probe
		n, _ := l.at.Next(hash, &p)
		l.touched ^= n
	}
}

// insertFound puts the next number into the table, and returns it.
func insertFound(l *numbers, hash uint32) int {
	n := l.found
	l.at.Insert(hash, uint32(n))
	l.found++
	return n
}
