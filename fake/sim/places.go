package sim

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
)

// places returns where the goroutines are that have a certain stack, for messages: at most three different places.
func places(are func(stack string) bool) string {
	var all []string
	buffer := make([]byte, 1<<22)
	for stack := range strings.SplitSeq(string(buffer[:runtime.Stack(buffer, true)]), "\n\n") {
		if at := place(stack); are(stack) && len(all) < 3 && !slices.Contains(all, at) {
			all = append(all, at)
		}
	}
	if len(all) == 0 {
		return "no goroutine of it is left"
	}
	return strings.Join(all, "; ")
}

// inFunction returns where a function of this package waits.
func inFunction(name string) string {
	return places(func(stack string) bool { return strings.Contains(stack, name+"(") })
}

// inBubble reports whether a stack is of a goroutine in a bubble.
func inBubble(stack string) bool {
	state, _, _ := strings.Cut(stack, "\n")
	return strings.Contains(state, "synctest bubble")
}

// restless reports whether a goroutine in a bubble does not stand still in the bubble's eyes: it computes, or waits for
// something outside, such as the network.
func restless(stack string) bool {
	state, _, _ := strings.Cut(stack, "\n")
	return inBubble(stack) && !strings.Contains(state, "(durable)") && !strings.Contains(stack, "synctest.Wait")
}

// place returns the innermost call of a stack that is neither in the standard library nor in this package, what it calls
// there, and the state of the goroutine.
func place(stack string) string {
	rows := strings.Split(stack, "\n")
	_, state, _ := strings.Cut(rows[0], "[")
	state, _, _ = strings.Cut(strings.TrimSuffix(state, "]:"), ",")
	calls := ""
	for i := 1; i+1 < len(rows); i += 2 {
		name := rows[i][:max(strings.LastIndex(rows[i], "("), 0)]
		file, _, _ := strings.Cut(strings.TrimSpace(rows[i+1]), " +")
		if !inLibrary(name, file) && !strings.HasPrefix(name, here) {
			return fmt.Sprintf("a goroutine (%s) in %s%s at %s", state, name, calls, file)
		}
		calls = ", in " + name + ","
	}
	return fmt.Sprintf("a goroutine (%s) in no function of the program%s", state, calls)
}

// inLibrary reports whether a function is the standard library's. Files that are built with -trimpath have no folder, so
// there the name decides: paths of modules begin with a domain.
func inLibrary(function, file string) bool {
	if library != "" {
		return strings.HasPrefix(file, library)
	}
	domain, _, ok := strings.Cut(function, "/")
	return !ok || !strings.Contains(domain, ".")
}

// here is what the names of this package's functions begin with.
var here = strings.TrimSuffix(runtime.FuncForPC(reflect.ValueOf(inLibrary).Pointer()).Name(), "inLibrary")

// library is the folder of the standard library, or empty with -trimpath.
var library = func() string {
	file, _ := runtime.FuncForPC(reflect.ValueOf(runtime.GC).Pointer()).FileLine(0)
	return strings.TrimSuffix(file, "runtime/mgc.go")
}()
