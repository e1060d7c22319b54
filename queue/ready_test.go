package queue

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// order gets and gives back everything that is queued and joins the keys.
func order(t *testing.T, q *Queue[string]) string {
	t.Helper()
	var keys []string
	for q.Len() > 0 {
		it := mustGet(t, q)
		keys = append(keys, it.Key)
		it.Done()
	}
	q.check(t)
	return strings.Join(keys, " ")
}

func TestPriorities(t *testing.T) {
	q := New(Options[string]{})
	add := func(k string, p int) { q.AddWith(k, AddOptions{Priority: p}) }
	add("low1", -1)
	add("mid1", 0)
	add("high1", 5)
	add("low2", -1)
	add("mid2", 0)
	add("mid1", -9)  // a lower one changes nothing
	add("low1", 5)   // a higher one moves it to the end of that
	add("high2", 5)  // behind it
	add("max", 1e18) // clamped
	add("min", -1e18)
	if got, want := order(t, q), "max high1 low1 high2 mid1 mid2 low2 min"; got != want {
		t.Errorf("handed out %s, want %s", got, want)
	}
}

func TestPriorityOfDirtyKey(t *testing.T) {
	q := New(Options[string]{})
	q.AddWith("k", AddOptions{Priority: 9})
	it := mustGet(t, q)
	if it.Priority != 9 {
		t.Errorf("Priority = %d, want 9", it.Priority)
	}
	q.AddWith("k", AddOptions{Priority: -3})
	q.AddWith("k", AddOptions{Priority: 2})
	q.AddWith("k", AddOptions{Priority: 1})
	if d := q.Metrics().DepthByPriority; len(d) != 1 || d[2] != 1 {
		t.Errorf("DepthByPriority = %v, want one of 2", d)
	}
	it.Done()
	if it = mustGet(t, q); it.Priority != 2 {
		t.Errorf("Priority = %d, want the highest of the adds while it ran", it.Priority)
	}
	it.Done()
}

// Any number of priorities must work, and leave nothing behind.
func TestManyPriorities(t *testing.T) {
	q := New(Options[string]{})
	var want []string
	for p := range 500 {
		k := stressKeys(500)[p]
		q.AddWith(k, AddOptions{Priority: p})
		want = append([]string{k}, want...)
	}
	if got := order(t, q); got != strings.Join(want, " ") {
		t.Error("not handed out by priority")
	}
	if n := len(q.ready.levels); n > keepLevels {
		t.Errorf("%d levels are kept", n)
	}
}

// TestAgeing keeps a stream of high priority keys going: the low ones must come through after
// ageAfter, taking every second turn and no more.
func TestAgeing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[string]{})
		low := stressKeys(20)
		start := time.Now()
		for _, k := range low {
			q.AddWith(k, AddOptions{Priority: -1})
		}
		first, lows, run := time.Duration(-1), 0, 0
		for step := range 1000 {
			q.AddWith("high", AddOptions{Priority: step % 2})
			it := mustGet(t, q)
			if it.Key == "high" {
				run = 0
			} else {
				if lows++; first < 0 {
					first = time.Since(start)
				}
				if run++; run > 1 {
					t.Fatal("two aged keys in a row")
				}
			}
			it.Done()
			time.Sleep(100 * time.Millisecond)
		}
		if first != ageAfter || lows != len(low) {
			t.Errorf("the first low key came after %v, want %v; %d came, want all %d", first, ageAfter, lows, len(low))
		}
		q.check(t)
	})
}

// Keys that were queued before priorities came into use have no time stamp: their age counts from
// then.
func TestAgeingStartsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[string]{})
		q.Add("old")
		time.Sleep(time.Hour)
		for range 50 {
			q.AddWith("high", AddOptions{Priority: 1})
			it := mustGet(t, q)
			if it.Key != "high" {
				t.Fatal("a key without a time stamp counts as aged")
			}
			it.Done()
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(time.Minute)
		for i := 0; ; i++ {
			q.AddWith("high", AddOptions{Priority: 1})
			it := mustGet(t, q)
			it.Done()
			if it.Key == "old" {
				break
			}
			if i > 2 {
				t.Fatal("the old key starves")
			}
		}
	})
}

// Ageing does not depend on how long the calls take: with calls of a minute the low key comes with
// the first one that starts after ageAfter.
func TestAgeingWithLongCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[string]{})
		q.ageAfter = int64(150 * time.Second)
		start := time.Now()
		q.AddWith("low", AddOptions{Priority: -1})
		for {
			q.Add("high")
			it := mustGet(t, q)
			it.Done()
			if it.Key == "low" {
				break
			}
			time.Sleep(time.Minute)
		}
		if d := time.Since(start); d != 3*time.Minute {
			t.Errorf("the low key came after %v, want 3m: the first call after 150s", d)
		}
	})
}

// A key that was just added has not aged, however long nothing happened before.
func TestFreshKeyIsNotAged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[string]{})
		for range 5 {
			q.AddWith("high", AddOptions{Priority: 1})
			q.AddWith("mid", AddOptions{Priority: 1})
			time.Sleep(time.Hour)
			q.Add("low")
			for _, k := range stressKeys(40) {
				q.AddWith(k, AddOptions{Priority: 1})
			}
			if got := order(t, q); !strings.HasSuffix(got, " low") {
				t.Fatalf("handed out %s: a fresh key counts as aged", got)
			}
			time.Sleep(time.Hour)
		}
	})
}

// The turn that an aged key took counts only for the hand-out that follows.
func TestAgedTurnIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[string]{})
		for range 3 {
			q.AddWith("low", AddOptions{Priority: -1})
			q.AddWith("high", AddOptions{Priority: 1})
			time.Sleep(time.Minute)
			if got := order(t, q); got != "low high" {
				t.Fatalf("handed out %s, want the aged key first", got)
			}
		}
	})
}

func TestFairness(t *testing.T) {
	q := New(Options[string]{Class: func(k string) string { return k[:1] }})
	for _, k := range strings.Fields("a1 a2 a3 a4 b1 c1 b2 a5") {
		q.Add(k)
	}
	if got, want := order(t, q), "a1 b1 c1 a2 b2 a3 a4 a5"; got != want {
		t.Errorf("handed out %s, want %s", got, want)
	}
	for _, k := range strings.Fields("a1 a2 b1 b2 c1") {
		q.Add(k)
	}
	q.AddWith("a1", AddOptions{Priority: 1}) // leaves its lane from the front
	q.AddWith("c1", AddOptions{Priority: 1}) // and empties one
	if got, want := order(t, q), "a1 c1 a2 b1 b2"; got != want {
		t.Errorf("handed out %s, want %s", got, want)
	}
	if len(q.classes.byName) != 0 {
		t.Errorf("classes of no key are kept: %v", q.classes.byName)
	}
}

// A tenant with a crowd of keys must not hold up the others, also at 1000 to 1.
func TestFairnessUnderLoad(t *testing.T) {
	q := New(Options[string]{Class: func(k string) string { return k[:3] }})
	for _, k := range stressKeys(1000) {
		q.Add(k)
	}
	q.Add("one")
	for i := 1; ; i++ {
		it := mustGet(t, q)
		it.Done()
		if it.Key == "one" {
			if i > 2 {
				t.Errorf("the other tenant's key came as number %d", i)
			}
			break
		}
	}
}
