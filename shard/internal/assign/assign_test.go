package assign

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kinform/kinform/internal/longtest"
)

// world runs tables without time: every owner answers at once, unless told otherwise.
type world struct {
	t       *testing.T
	seed    uint64
	table   Table
	epoch   int64
	members []Member
	gone    map[string]bool
	kept    map[string]bool
	heirs   map[string]string
	slow    map[string]bool // do not release
}

func newWorld(t *testing.T, seed uint64) *world {
	return &world{t: t, seed: seed, table: Free(1), epoch: 1, gone: map[string]bool{}, kept: map[string]bool{}, heirs: map[string]string{}, slow: map[string]bool{}}
}

func (w *world) state() State {
	return State{
		Members: w.members, Gone: func(id string) bool { return w.gone[id] }, Kept: func(id string) bool { return w.kept[id] },
		Heir: func(id string) string { return w.heirs[id] }, Released: func(r Range) bool { return !w.slow[r.Owner] },
	}
}

func (w *world) join(id string, weight int) {
	w.members = append(w.members, Member{ID: id, Weight: weight, Takes: true})
}

func (w *world) leave(id string) {
	w.members = slices.DeleteFunc(w.members, func(m Member) bool { return m.ID == id })
	w.gone[id] = true
}

// step takes one step, and checks what must hold in each.
func (w *world) step() bool {
	w.t.Helper()
	w.epoch++
	rand.New(rand.NewPCG(w.seed, uint64(w.epoch))).Shuffle(len(w.members), func(i, j int) { w.members[i], w.members[j] = w.members[j], w.members[i] })
	before := slices.Clone(w.table)
	next, changed := Next(w.table, w.state(), w.epoch)
	if !slices.Equal(before, w.table) {
		w.t.Fatalf("seed %d: Next has changed its argument", w.seed)
	}
	if err := next.Check(); err != nil {
		w.t.Fatalf("seed %d: %v: %v", w.seed, err, next)
	}
	for at := range both(w.table, next) {
		was, is := w.table[w.table.Find(at)], next[next.Find(at)]
		if is.Number < was.Number {
			w.t.Fatalf("seed %d: the number of %x goes back from %v to %v", w.seed, at, was, is)
		}
		if was.Owner == is.Owner {
			continue
		}
		if is.Number != w.epoch {
			w.t.Fatalf("seed %d: %v gets a range without a new number: %v", w.seed, is.Owner, is)
		}
		if was.Owner != "" && !w.gone[was.Owner] && (was.Next == "" || w.slow[was.Owner]) {
			w.t.Fatalf("seed %d: %v loses a range that it has not released: %v", w.seed, was, is)
		}
	}
	w.table = next
	return changed
}

// both returns a hash in each part in which both tables have one range.
func both(a, b Table) map[uint64]bool {
	at := map[uint64]bool{}
	for _, t := range []Table{a, b} {
		for _, r := range t {
			at[r.First] = true
		}
	}
	return at
}

// owners returns how much each has of all hashes.
func (w *world) loads() map[string]float64 {
	loads := map[string]float64{}
	for n, r := range w.table {
		loads[r.Owner] += w.table.width(n)
	}
	return loads
}

// moved is the part of the hashes whose owner is another one than in before.
func (w *world) moved(before Table) float64 {
	var cuts []uint64
	for at := range both(before, w.table) {
		cuts = append(cuts, at)
	}
	slices.Sort(cuts)
	sum := 0.0
	for n, at := range cuts {
		end := all
		if n+1 < len(cuts) {
			end = float64(cuts[n+1])
		}
		if before[before.Find(at)].Owner != w.table[w.table.Find(at)].Owner {
			sum += (end - float64(at)) / all
		}
	}
	return sum
}

// settle steps until nothing changes, and checks the end.
func (w *world) settle() {
	w.t.Helper()
	for n := 0; w.step(); n++ {
		if n > 20 {
			w.t.Fatalf("seed %d: it does not come to rest: %v", w.seed, w.table)
		}
	}
	if len(w.members) == 0 {
		return
	}
	loads, total := w.loads(), 0
	for _, m := range w.members {
		total += m.Weight
	}
	for _, m := range w.members {
		fair := float64(m.Weight) / float64(total)
		if r := loads[m.ID] / fair; r < 0.8 || r > 1.2 {
			w.t.Fatalf("seed %d: the load of %v is %.2f of its share", w.seed, m, r)
		}
		delete(loads, m.ID)
	}
	if len(loads) > 0 {
		w.t.Fatalf("seed %d: owners that are not there: %v", w.seed, loads)
	}
}

// minimum is what an exact division would move.
func (w *world) minimum(before Table) float64 {
	loads, total, sum := map[string]float64{}, 0, 0.0
	for n, r := range before {
		loads[r.Owner] += before.width(n)
	}
	for _, m := range w.members {
		total += m.Weight
	}
	for _, m := range w.members {
		sum += max(0, float64(m.Weight)/float64(total)-loads[m.ID])
	}
	return sum
}

// TestChanges lets members come and go, and changes several things at once.
func TestChanges(t *testing.T) {
	most := 0
	for seed := range longtest.N[uint64](50, 5_000) {
		rng := rand.New(rand.NewPCG(seed, 2))
		w := newWorld(t, seed)
		size, weights := 1+rng.IntN(100), []int{1, 1 + rng.IntN(10), 1000}[rng.IntN(3)]
		for n := range size {
			w.join(fmt.Sprint("m", n), 1+rng.IntN(weights))
		}
		w.settle()
		for range 30 {
			before := slices.Clone(w.table)
			for range 1 + rng.IntN(2)*rng.IntN(4) {
				if rng.IntN(2) == 0 && len(w.members) > 1 {
					w.leave(w.members[rng.IntN(len(w.members))].ID)
				} else {
					w.join(fmt.Sprint("n", len(w.gone)+len(w.members)), 1+rng.IntN(weights))
				}
			}
			w.settle()
			if moved, least := w.moved(before), w.minimum(before); moved > 1.1*least+1e-6 {
				t.Fatalf("seed %d: moved %.6f, and at least %.6f was to move", seed, moved, least)
			}
			most = max(most, len(w.table)/max(len(w.members), 1))
		}
	}
	t.Logf("at most %d ranges per member", most)
	if most > 40 {
		t.Errorf("%d ranges per member", most)
	}
}

// TestChurn replaces members for long: the number of ranges stays small.
func TestChurn(t *testing.T) {
	for _, size := range []int{3, 10, 100} {
		w := newWorld(t, uint64(size))
		rng := rand.New(rand.NewPCG(3, uint64(size)))
		for n := range size {
			w.join(fmt.Sprint("m", n), 1)
		}
		most := 0
		for n := range longtest.N(150, 3000) {
			if rng.IntN(2) == 0 && len(w.members) > size/2 {
				w.leave(w.members[rng.IntN(len(w.members))].ID)
			} else if len(w.members) < size {
				w.join(fmt.Sprint("n", n), 1)
			}
			w.settle()
			most = max(most, len(w.table))
		}
		t.Logf("%d members: at most %d ranges", size, most)
		if most > 12*size {
			t.Errorf("%d members have %d ranges", size, most)
		}
	}
}

// TestKeys counts a million keys instead of hashes.
func TestKeys(t *testing.T) {
	w := newWorld(t, 0)
	for n := range 100 {
		w.join(fmt.Sprint("m", n), 1)
	}
	w.settle()
	const keys = 1_000_000
	count := func() ([]string, map[string]int) {
		owners, loads := make([]string, keys), map[string]int{}
		for n := range keys {
			owners[n] = w.table[w.table.Find(Hash(fmt.Sprintf("namespace-%d/web-%d", n%50, n)))].Owner
			loads[owners[n]]++
		}
		return owners, loads
	}
	before, _ := count()
	w.join("late", 1)
	w.settle()
	after, loads := count()
	moved := 0
	for n := range keys {
		if before[n] != after[n] {
			moved++
		}
	}
	if least := keys / 101; moved > least*11/10 {
		t.Errorf("%d keys moved, the least is %d", moved, least)
	}
	for id, n := range loads {
		if math.Abs(float64(n)/(keys/101.)-1) > 0.2 {
			t.Errorf("%s has %d keys of %d", id, n, keys/101)
		}
	}
}

// TestHeir: who comes back under its name gets what it had, and nothing else moves.
func TestHeir(t *testing.T) {
	w := newWorld(t, 0)
	for n := range 7 {
		w.join(fmt.Sprint("m", n), 1)
	}
	w.settle()
	before := slices.Clone(w.table)
	w.leave("m3")
	w.kept["m3"] = true
	if w.step() {
		t.Fatalf("ranges moved in the grace time: %v", w.table)
	}
	w.join("m3b", 1)
	w.heirs["m3"] = "m3b"
	w.settle()
	for n, r := range w.table {
		if want := before[n].Owner; r.Owner != want && (want != "m3" || r.Owner != "m3b") {
			t.Errorf("%v was %v", r, before[n])
		}
	}
}

// TestSlow: a member that does not release keeps its range, and what was to get it leaves.
func TestSlow(t *testing.T) {
	w := newWorld(t, 0)
	w.join("a", 1)
	w.settle()
	w.slow["a"] = true
	w.join("b", 1)
	for range 3 {
		w.step()
	}
	if n := w.table.Find(math.MaxUint64); w.table[n].Owner != "a" || w.table[n].Next != "b" {
		t.Fatalf("not in the middle of a move: %v", w.table)
	}
	w.leave("b")
	w.step()
	if len(w.table) != 1 || w.table[0].Owner != "a" || w.table[0].Next != "" {
		t.Errorf("a does not have everything: %v", w.table)
	}
}

// TestUnsure: while the fate of a member is unknown, only free ranges are given away.
func TestUnsure(t *testing.T) {
	w := newWorld(t, 0)
	w.join("a", 1)
	w.join("b", 1)
	w.settle()
	w.members = slices.DeleteFunc(w.members, func(m Member) bool { return m.ID == "b" }) // and not gone
	w.join("c", 1)
	if w.step() {
		t.Errorf("it moves: %v", w.table)
	}
	w.gone["b"] = true
	w.settle()
}

func TestWeights(t *testing.T) {
	w := newWorld(t, 0)
	w.join("zero", 0)
	w.join("negative", -5)
	w.join("huge", math.MaxInt)
	for w.step() {
	}
	loads := w.loads()
	if loads["huge"] < 0.999 || loads["zero"] <= 0 || loads["negative"] <= 0 {
		t.Errorf("loads %v", loads)
	}
}

func TestNobody(t *testing.T) {
	w := newWorld(t, 0)
	if w.step() {
		t.Errorf("a change without members: %v", w.table)
	}
	w.join("a", 1)
	w.settle()
	w.leave("a")
	w.step()
	if len(w.table) != 1 || w.table[0].Owner != "" {
		t.Errorf("not free: %v", w.table)
	}
}

func TestCheck(t *testing.T) {
	for _, bad := range []Table{nil, {{First: 1}}, {{First: 0}, {First: 0}}, {{First: 0}, {First: 5}, {First: 4}}} {
		if bad.Check() == nil {
			t.Errorf("%v passes", bad)
		}
	}
}

// TestHash: texts that differ only in their last characters spread evenly.
func TestHash(t *testing.T) {
	var parts [16]int
	for n := range 16_000 {
		parts[Hash(fmt.Sprint("websites/web-", n))>>60]++
	}
	for _, n := range parts {
		if n < 850 || n > 1150 {
			t.Errorf("parts %v", parts)
		}
	}
	if h := Hash("prod/web"); h != 0xb1bda365845d34b1 {
		t.Errorf("the hash of a text has changed: %x", h)
	}
}

// TestMerge: neighbours of one owner become one range, with the newest of their epochs. Ranges that
// move do not.
func TestMerge(t *testing.T) {
	got := Table{
		{First: 0, Owner: "a", Since: 5, Number: 1}, {First: 10, Owner: "a", Since: 2, Number: 7}, {First: 20, Owner: "a", Next: "b", Since: 8, Number: 3},
		{First: 30, Owner: "b", Since: 9, Number: 9}, {First: 40, Owner: "b", Since: 10, Number: 2},
	}.merge()
	want := Table{
		{First: 0, Owner: "a", Since: 5, Number: 7}, {First: 20, Owner: "a", Next: "b", Since: 8, Number: 3}, {First: 30, Owner: "b", Since: 10, Number: 9},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}
