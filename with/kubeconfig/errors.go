package kubeconfig

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrNoConfig is returned by [Load] where there is neither a kubeconfig nor a service account.
// The error that wraps it names the files that were looked for.
var ErrNoConfig = errors.New("no kubeconfig")

// ContextError is returned by [Load] if the kubeconfig lacks the context that was asked for, or
// names no current context and none was asked for.
type ContextError struct {
	Context  string   // what was asked for, empty for the current context
	Contexts []string // what there is, in alphabetical order
}

func (e *ContextError) Error() string {
	what := "no current context"
	if e.Context != "" {
		what = fmt.Sprintf("no context %q", e.Context)
	}
	if len(e.Contexts) == 0 {
		return what + ", nor any other"
	}
	return what + "; choose one of: " + strings.Join(e.Contexts, ", ")
}

// PluginError is the error of a request for which a credential plugin had no answer in time. The
// plugin is left to itself: client-go cannot stop one. A request that comes while it still runs
// waits for the same run.
type PluginError struct {
	Plugin string        // the command, or the name of the auth provider
	After  time.Duration // how long the request waited
}

func (e *PluginError) Error() string {
	return fmt.Sprintf("credential plugin %q has not answered for %v: run it by hand to see what it waits for", e.Plugin, e.After)
}
