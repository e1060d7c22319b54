package sim

import (
	"iter"
	"reflect"
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

// left returns the places at which goroutines wait that a bubble has left, at most three.
func left() string {
	var places []string
	for goroutine := range goroutines() {
		state, _, _ := strings.Cut(goroutine, "\n")
		if at := "one waits in " + place(goroutine); strings.Contains(state, "synctest bubble") && !slices.Contains(places, at) {
			places = append(places, at)
		}
	}
	return strings.Join(places[:min(len(places), 3)], "; ")
}

// goroutines returns the stacks of all goroutines.
func goroutines() iter.Seq[string] {
	all := make([]byte, 1<<22)
	return strings.SplitSeq(string(all[:runtime.Stack(all, true)]), "\n\n")
}

// place returns the innermost call of a stack that is not in the standard library, and what it calls there.
func place(goroutine string) string {
	rows := strings.Split(goroutine, "\n")
	calls := ""
	for i := 1; i+1 < len(rows); i += 2 {
		name := rows[i][:max(strings.LastIndex(rows[i], "("), 0)]
		file, _, _ := strings.Cut(strings.TrimSpace(rows[i+1]), " +")
		if !strings.HasPrefix(file, library) {
			return name + calls + " at " + file
		}
		calls = ", in " + name + ","
	}
	return "the standard library" + calls
}

// library is the folder of the standard library.
var library = func() string {
	file, _ := runtime.FuncForPC(reflect.ValueOf(runtime.GC).Pointer()).FileLine(0)
	return strings.TrimSuffix(file, "runtime/mgc.go")
}()
