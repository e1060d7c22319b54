// Package pictures takes the pictures of docs/debug-page.md, of the operator at work beside a controller that loops. That one
// opens a kind, so it is not in a package whose tests people run after each save.
package pictures
