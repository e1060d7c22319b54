package fake

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake/faults"
)

// Exchange is a request with the answer that its sender got, for [Options].Seen.
type Exchange struct {
	Request
	// Time is the time of the answer, by [Options].Now.
	Time time.Time
	// Key is the object's. It has no name for a list, a watch, the deletion of a collection, and a
	// create that was refused before it got its generated name.
	Key types.NamespacedName
	// UserAgent is the header of that name. It is empty for a [Source].
	UserAgent string
	// Code is the HTTP status that was sent or, to a [Source], would have been. Zero means that the
	// sender got none, because the connection broke or its context ended.
	Code int
	// Message is the message of a refusal.
	Message string
}

// Writes reports whether the request is not a get, list or watch.
func (x Exchange) Writes() bool {
	return x.Verb != faults.VerbGet && x.Verb != faults.VerbList && x.Verb != faults.VerbWatch
}

// String returns all but the time, such as "update deployments.apps prod/web: 409 Operation cannot
// be fulfilled ... (manager/v1)".
func (x Exchange) String() string {
	var b strings.Builder
	b.WriteString(x.Request.String())
	switch {
	case x.Key.Namespace != "" && x.Key.Name == "":
		b.WriteString(" in " + x.Key.Namespace)
	case x.Key.Namespace != "":
		b.WriteString(" " + x.Key.String())
	case x.Key.Name != "":
		b.WriteString(" " + x.Key.Name)
	}
	if x.Code == 0 {
		b.WriteString(": no answer")
	} else {
		fmt.Fprintf(&b, ": %d", x.Code)
	}
	for _, text := range []string{x.Message, x.UserAgent} {
		if text != "" && text == x.UserAgent {
			text = "(" + text + ")"
		}
		if text != "" {
			b.WriteString(" " + text)
		}
	}
	return b.String()
}
