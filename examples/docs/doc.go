// Package docs has the code of the pages in docs/ as examples, so that it compiles. Its test holds
// the pages to showing only code that is in a Go file of examples/, bench/twins or with/.
package docs
