package eventlog_test

import (
	"fmt"

	"github.com/kinform/kinform/internal/eventlog"
)

func ExampleLog() {
	var log eventlog.Log[string]      // the writer's
	early := eventlog.NewCursor(&log) // a reader's
	eventlog.Append(&log, "a")
	eventlog.Append(&log, "b")
	late := eventlog.NewCursor(&log)
	eventlog.Append(&log, "c")
	eventlog.Publish(&log)

	for _, c := range []*eventlog.Cursor[string]{early, late} {
		run, _ := eventlog.Next(c)
		fmt.Println(run)
		eventlog.Close(c)
	}
	fmt.Println("no one lags:", eventlog.Lagging(&log, 0) == nil)
	// Output:
	// [a b c]
	// [c]
	// no one lags: true
}
