// Package tools holds nothing: its go.mod pins the programs that check and measure the
// project, apart from what the project itself depends on. Its folder release prepares versions.
package tools
