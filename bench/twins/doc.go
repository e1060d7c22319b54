// Package twins holds programs of examples/ once more, written with controller-runtime. Each does
// the same as the example of its name. Package clientgo does what examples/readme does, with
// client-go alone. Its test compares the numbers of lines.
package twins
