package index

import (
	"errors"

	"github.com/kinform/kinform/internal/mistake"
)

var (
	// ErrUnknownIndex says that a store does not hold the index asked for.
	ErrUnknownIndex = errors.New("unknown index")

	// ErrDuplicate says that a store already has an index of that name. Packages above
	// return the same value for other names that are taken.
	ErrDuplicate = errors.New("the name is taken: give each its own name")

	// ErrInvalid says that a definition is nil, or lacks a name or a function, or that
	// its type of values is not possible: see [Index]; or that a lookup by text is of an index whose
	// values are no strings. The text says which. It is the value of package controller.
	ErrInvalid = mistake.Err
)

// errNotString says that a dynamic lookup asked by string for an index whose values are not strings.
var errNotString error = mistake.Text("index values are not strings: use the typed Index")
