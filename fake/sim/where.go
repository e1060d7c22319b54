package sim

import (
	"iter"
	"runtime"
	"slices"
	"strings"
)

// where returns the place at which a goroutine that runs function waits, for messages.
func where(function string) string {
	for goroutine := range goroutines() {
		if strings.Contains(goroutine, function) {
			return "it waits in " + place(goroutine)
		}
	}
	return "no goroutine of it is left"
}

// restless returns a place at which a goroutine in a bubble does not stand still in the bubble's eyes: it computes, or
// waits for something outside, such as the network.
func restless() string {
	for goroutine := range goroutines() {
		state, _, _ := strings.Cut(goroutine, "\n")
		if strings.Contains(state, "synctest bubble") && !strings.Contains(state, "(durable)") && !strings.Contains(goroutine, "synctest.Wait") {
			_, state, _ = strings.Cut(state, "[")
			state, _, _ = strings.Cut(state, ",")
			return "a goroutine has the state " + strings.TrimSuffix(state, "]:") + " in " + place(goroutine)
		}
	}
	return "no goroutine shows why"
}

// goroutines returns the stacks of all goroutines.
func goroutines() iter.Seq[string] {
	all := make([]byte, 1<<22)
	return strings.SplitSeq(string(all[:runtime.Stack(all, true)]), "\n\n")
}

// place returns the innermost call of a stack outside the runtime and the packages below a program.
func place(goroutine string) string {
	rows := strings.Split(goroutine, "\n")
	for i := 1; i+1 < len(rows); i += 2 {
		name := rows[i][:max(strings.LastIndex(rows[i], "("), 0)]
		if before, _, _ := strings.Cut(name, "."); slices.Contains(below, before) {
			continue
		}
		where, _, _ := strings.Cut(strings.TrimSpace(rows[i+1]), " +")
		return name + " at " + where
	}
	return "the runtime"
}

// below are packages of which no program's author wants to hear.
var below = []string{"runtime", "sync", "internal/poll", "internal/runtime/syscall", "syscall", "internal/synctest", "time", "internal/sync", "io"}
