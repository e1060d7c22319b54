package index

import (
	"errors"

	"github.com/kinform/kinform/internal/mistake"
	"github.com/kinform/kinform/internal/usercode"
)

var (
	// ErrUnknownIndex says that a store does not hold the index asked for.
	ErrUnknownIndex = errors.New("unknown index")

	// ErrDuplicate says that a store already has an index of that name. Packages above
	// return the same value for other names that are taken.
	ErrDuplicate = errors.New("the name is taken: give each its own name")

	// ErrInvalid says that a definition is nil, or lacks a name or a function, or that
	// its type of values is not possible: see [Index]. It matches the ErrInvalid of package informer.
	ErrInvalid error = mistake.Text("invalid index definition")

	// ErrNotString says that a dynamic lookup asked by string for an index whose values
	// are not strings. Use its typed handle.
	ErrNotString = errors.New("index values are not strings")
)

// PanicError is a panic of an index function. Name is the index, Key the object's key as package
// fmt prints it if it is known, Value was given to panic, Stack is the stack at that point. The
// object is not in the store, or not in its new state. It is the same type as informer.PanicError.
type PanicError = usercode.PanicError
