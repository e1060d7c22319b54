package eventlog_test

import (
	"fmt"

	"github.com/kinform/kinform/internal/eventlog"
)

func ExampleLog() {
	var log eventlog.Log[string] // the writer's
	early := log.NewCursor()     // a reader's
	log.Append("a")
	log.Append("b")
	late := log.NewCursor()
	log.Append("c")
	log.Publish()

	for _, c := range []*eventlog.Cursor[string]{early, late} {
		run, _ := c.Next()
		fmt.Println(run)
		c.Close()
	}
	fmt.Println("no one lags:", log.Lagging(0) == nil)
	// Output:
	// [a b c]
	// [c]
	// no one lags: true
}
