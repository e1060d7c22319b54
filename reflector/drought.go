package reflector

import "time"

// drought is about watches that have failed and brought nothing, since one has brought something. If
// they do so for Backoff.Max, a list follows the next one that fails, and then again and again. The
// zero value means that watches work.
type drought struct {
	dry    time.Time // when the first of them ended
	barren time.Time // the same, or when the first since the last list began; zero after a list
	// byLists: a list has come, and watches have failed nevertheless.
	byLists bool
	// trial is when a list in place of the next watch was due, also one after silence. Zero unless that list
	// is the next request, or in progress. If it fails, the watch goes on.
	trial       time.Time
	failedLists int // such lists in a row that failed
}

// The wait for a list that follows watches doubles with each such list that fails, and becomes
// mostPatience times as long at most.
const mostPatience = 10

// failed follows a watch that failed and brought nothing.
func (d drought) failed(end watchEnd) drought {
	switch {
	case d.dry.IsZero():
		d.dry, d.barren = end.at, end.at
	case d.barren.IsZero():
		d.barren, d.byLists = end.began, true
	}
	return d
}

// listed follows a list.
func (d drought) listed() drought { return drought{dry: d.dry, byLists: d.byLists} }

// lengthened is the patience after lists that failed.
func (d drought) lengthened(patience time.Duration) time.Duration {
	return scale(patience, min(float64(int(1)<<min(d.failedLists, 8)), mostPatience))
}
