package informer

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/internal/tracing"
)

// The notes of a handler beside what it did, turn by turn.
func TestTurns(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) { testTurns(t, rand.New(rand.NewPCG(seed, 1))) })
	}
}

func testTurns(t *testing.T, random *rand.Rand) {
	kept := 1 + random.IntN(40)
	from := random.Uint64N(5)
	turns, place := newTurns(time.Now(), from, kept), from
	began := map[uint64]time.Time{} // of the turns that came
	exact := map[uint64]bool{}      // behind a slow one
	slow := true
	takes := []time.Duration{0, time.Nanosecond, fastTurns / turnsTogether, fastTurns, fastTurns + 1, time.Hour}
	check := func() {
		for at := max(place, from+uint64(kept)) - uint64(kept); at < place+turnsTogether; at++ {
			when, came := began[at]
			got, want := turns.of("h", at), tracing.Turn{Handler: "h", Began: when, Missed: !came && at < place}
			switch early := when.Sub(got.Began); {
			case got == want:
			case came && !exact[at] && !got.Missed && early > 0 && early <= time.Hour*turnsTogether:
			default:
				t.Fatalf("place %d of %d: %+v, not %+v", at, place, got, want)
			}
		}
	}
	for range 50 {
		if random.IntN(10) == 0 {
			place += random.Uint64N(2 * uint64(kept))
			place = max(place, turns.next) // a run of the log has no gaps
			turns.skip(place)
			check()
		}
		speed := takes[:1+random.IntN(len(takes))]
		for rest := random.IntN(60); rest >= 0; rest-- {
			before := turns.next
			turns.begin(place, rest)
			began[place] = time.Now()
			if slow && place >= before {
				exact[place] = true
			}
			place++
			if turns.next > place+uint64(rest) {
				t.Fatalf("%d turns noted that are not at hand", turns.next-place-uint64(rest))
			}
			takes := speed[random.IntN(len(speed))]
			time.Sleep(takes)
			slow = takes > fastTurns && turns.next == place
			if random.IntN(8) == 0 {
				check()
			}
		}
	}
}
