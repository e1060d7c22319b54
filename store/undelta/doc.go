// Package undelta provides a store that pushes its full contents on every change. Use it in
// programs that need the present state and not the single changes, for example to write a
// configuration file, or to compare a list with the running processes.
//
// The contents come as a snapshot of package store, which costs nothing to take and never
// changes. client-go's UndeltaStore copies them into a list every time.
//
// # Order
//
// Every successful write makes one call, with the contents right after it. Calls are made one
// at a time, in the order of the writes, so the last one has the newest contents. A write
// waits for the previous write and its call. Reads wait for neither.
package undelta
