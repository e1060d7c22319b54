package kubeconfig

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrNoConfig is returned by [Load] if there is no kubeconfig and the process is not in a pod.
// The error that wraps it names the files that Load looked for.
var ErrNoConfig = errors.New("no kubeconfig")

// ContextError is returned by [Load] if the kubeconfig does not have the requested context, or
// if none was requested and there is no current context.
type ContextError struct {
	Context  string   // the requested context; empty for the current one
	Contexts []string // the existing contexts, in alphabetical order
	Files    []string // the files that were looked for, in order of precedence
}

func (e *ContextError) Error() string {
	what := "no current context"
	if e.Context != "" {
		what = fmt.Sprintf("no context %q", e.Context)
	}
	if len(e.Files) > 0 {
		what += " in " + strings.Join(e.Files, ", ")
	}
	if len(e.Contexts) == 0 {
		return what + ", nor any other: is it a kubeconfig?"
	}
	return what + "; choose one of: " + strings.Join(e.Contexts, ", ")
}

// PluginError is the error of a request whose credential plugin did not answer in time. The
// plugin keeps running, because client-go cannot stop it. A request that comes meanwhile waits
// for the same run.
type PluginError struct {
	Plugin string        // the command, or the name of the auth provider
	After  time.Duration // how long the request waited
}

func (e *PluginError) Error() string {
	return fmt.Sprintf("credential plugin %q has not answered for %v: run it by hand to see what it waits for", e.Plugin, e.After)
}
