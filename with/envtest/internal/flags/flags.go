// Package flags parses the command line of a program that stands in for another one: it takes every
// flag of the other, and uses a few.
package flags

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"
)

// Parse parses args. Used has the flags that the caller uses. Names lists all flags of the other
// program, one a line: "name" for one that is true or false, "name=" for one with a value. It
// returns the names of those that args sets without effect. For --help it prints the flags to out
// and returns pflag.ErrHelp.
func Parse(used *pflag.FlagSet, names string, args []string, out io.Writer) (ignored []string, err error) {
	used.SetOutput(io.Discard) // the caller prints errors
	used.Usage = func() {}
	for name := range strings.FieldsSeq(names) {
		name, valued := strings.CutSuffix(name, "=")
		if used.Lookup(name) != nil {
			continue
		}
		used.Var(unused{}, name, "ignored")
		if !valued {
			used.Lookup(name).NoOptDefVal = "true"
		}
	}
	switch err := used.Parse(args); {
	case err == pflag.ErrHelp:
		fmt.Fprintf(out, "%s, a stand-in of Kinform for tests.\n\nFlags:\n%s", used.Name(), used.FlagUsages())
		return nil, err
	case err != nil:
		return nil, err
	case used.NArg() > 0:
		return nil, fmt.Errorf("%q does not take any arguments, got %q", used.Name(), used.Args())
	}
	used.Visit(func(f *pflag.Flag) {
		if _, ok := f.Value.(unused); ok {
			ignored = append(ignored, "--"+f.Name)
		}
	})
	return ignored, nil
}

// unused is the value of a flag without effect.
type unused struct{}

func (unused) String() string   { return "" }
func (unused) Set(string) error { return nil }
func (unused) Type() string     { return "" }
