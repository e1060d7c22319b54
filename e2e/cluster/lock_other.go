//go:build !unix

package cluster

import "context"

// lockFile does nothing where there is no flock: parallel builds then repeat work, but each result
// appears whole.
func lockFile(context.Context, string) (unlock func(), err error) {
	return func() {}, nil
}
