// Package lot draws lots for waits that many clients shall not end at once.
package lot

import (
	"math/rand/v2"
	"time"
)

// Fraction returns a number in [0,1) that the clock and who decide. Two moments have unrelated numbers, even neighbouring
// nanoseconds, and so have two who ask at the same one. In a testing/synctest bubble, whose clock starts anew in each
// run, the numbers are the same in each run, so a test that failed fails again. It takes about 30 ns, without
// allocation, and is safe for concurrent use.
func Fraction(who uint64) float64 {
	var source rand.PCG
	source.Seed(uint64(time.Now().UnixNano()), who)
	return float64(source.Uint64()>>11) / (1 << 53)
}
