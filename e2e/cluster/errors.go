package cluster

import "errors"

var (
	// ErrRunning is returned by Process.Start when the process runs already.
	ErrRunning = errors.New("process is running")

	// ErrExited is returned by Process.Start when the program ended before it was ready, and by
	// Cluster.Close when a program had ended without being asked to. The message ends with the tail
	// of its log.
	ErrExited = errors.New("process exited by itself")

	// ErrNoServerModule is returned by Build when the directory of the server module cannot be
	// found, which happens when the working directory is outside of the workspace.
	ErrNoServerModule = errors.New("module of the servers not found")
)
