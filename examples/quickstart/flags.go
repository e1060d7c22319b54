package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"
)

// options is the command line.
type options struct {
	runFor     time.Duration // zero means until interrupted
	server     string
	kubeconfig string
	context    string
	write      string // namespace for the summaries in a real cluster; empty means none
	pods       int
	changes    int // per second
	seed       uint64
	plain      bool
	debug      string // address of the debug page; empty means none
}

const usage = `Quickstart watches the pods of a cluster and keeps one summary per node.

    go run ./examples/quickstart
    go run ./examples/quickstart -context my-cluster
    go run ./examples/quickstart -server http://127.0.0.1:8001     (kubectl proxy)

Without -server, -kubeconfig and -context the cluster is an API server in memory whose
pods keep changing and whose connections break now and then. A real cluster is only read:
it needs the right to list and watch pods, and the summaries stay in memory, unless -write
says where to keep them.

In the end the cache is compared with the server, object by object. The exit status is 0
if they are equal, 1 if not or if the cache could not be filled, 2 for a wrong command.

`

// flagGroups orders the flags in the help.
var flagGroups = []struct {
	title string
	names []string
}{
	{"How long and how", []string{"for", "plain", "debug"}},
	{"A real cluster", []string{"server", "kubeconfig", "context", "write"}},
	{"The cluster in memory", []string{"pods", "changes", "seed"}},
}

// parse reads the command line. It returns flag.ErrHelp for -h.
func parse(args []string) (options, error) {
	o, fs := flags()
	if err := fs.Parse(args); err != nil {
		return *o, err
	}
	switch {
	case fs.NArg() > 0:
		return *o, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	case o.runFor < 0:
		return *o, fmt.Errorf("-for %v is negative", o.runFor)
	case o.pods < 1 || o.pods > 1_000_000:
		return *o, fmt.Errorf("-pods %d is not between 1 and 1,000,000", o.pods)
	case o.changes < 0 || o.changes > 10_000:
		return *o, fmt.Errorf("-changes %d is not between 0 and 10,000", o.changes)
	case o.server != "" && (o.kubeconfig != "" || o.context != ""):
		return *o, errors.New("-server goes without -kubeconfig and -context")
	case o.write != "" && !o.real():
		return *o, errors.New("-write needs a real cluster: -server, -kubeconfig or -context")
	}
	return *o, nil
}

// real reports whether the flags select a real cluster.
func (o options) real() bool { return o.server != "" || o.kubeconfig != "" || o.context != "" }

func flags() (*options, *flag.FlagSet) {
	o := &options{}
	fs := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.DurationVar(&o.runFor, "for", 15*time.Second, "end after this `time`; 0 means when interrupted")
	fs.BoolVar(&o.plain, "plain", false, "print a line per second, as without a terminal")
	fs.StringVar(&o.debug, "debug", "", "serve the debug page at this `address`, such as :8080")
	fs.StringVar(&o.server, "server", "", "base `URL` of an API server that needs no login")
	fs.StringVar(&o.kubeconfig, "kubeconfig", "", "`path` of a kubeconfig; default $KUBECONFIG, then ~/.kube/config")
	fs.StringVar(&o.context, "context", "", "`name` of a context in the kubeconfig; default the current one")
	fs.StringVar(&o.write, "write", "", "write the summaries as ConfigMaps to this `namespace`, and leave them there")
	fs.IntVar(&o.pods, "pods", 2000, "how many there are, about; a `number`")
	fs.IntVar(&o.changes, "changes", 300, "changes per second; a `number`")
	fs.Uint64Var(&o.seed, "seed", 1, "a `number` that all of it follows from")
	return o, fs
}

// help writes the text of -h.
func help(w io.Writer) {
	_, fs := flags()
	var b strings.Builder
	b.WriteString(usage)
	for _, group := range flagGroups {
		b.WriteString(group.title + ":\n")
		for _, name := range group.names {
			f := fs.Lookup(name)
			value, text := flag.UnquoteUsage(f)
			fmt.Fprintf(&b, "  %-22s %s", strings.TrimSpace("-"+name+" "+value), text)
			if f.DefValue != "" && f.DefValue != "false" {
				fmt.Fprintf(&b, " (%s)", f.DefValue)
			}
			b.WriteString("\n")
		}
		b.WriteString("\n")
	}
	_, _ = io.WriteString(w, b.String())
}
