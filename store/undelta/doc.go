// Package undelta has a store that hands out its whole content on every change, for
// programs that want to be told not what happened but how things are now: they write down
// a configuration file, or compare a list with what runs.
//
// The content comes as a snapshot of package store, which costs nothing to take and stays
// as it is for ever; client-go's UndeltaStore copies it into a list every time.
//
// # Order
//
// Every write that succeeds makes one call, with the content right after it. Calls are in
// the order of the writes, one at a time: the last one has the newest content. That is
// why a write waits for the one before it and for its call. Reads wait for neither.
package undelta
