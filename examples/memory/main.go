// Memory tells what a cache of the objects of a cluster would take, and what each option of Kinform saves. It
// lists a sample of each kind and measures it. It needs the right to list, and writes nothing.
//
//	go run ./examples/memory
//	go run ./examples/memory -context prod -sample 2000
//	go run ./examples/memory -resource example.com/v1/websites -resource core/v1/pods
//
// It reads the cluster that kubectl would use. See package with/kubeconfig.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"strings"
	"text/tabwriter"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/with/kubeconfig"
	"github.com/kinform/kinform/with/kubernetes/apps"
	"github.com/kinform/kinform/with/kubernetes/batch"
	"github.com/kinform/kinform/with/kubernetes/core"
	"github.com/kinform/kinform/with/kubernetes/discovery"
)

// usual are the kinds of which most clusters have many.
func usual() []measurer {
	return []measurer{
		of(core.Pods), of(core.Nodes), of(core.Namespaces), of(core.ConfigMaps), of(core.Secrets), of(core.Services),
		of(discovery.EndpointSlices), of(core.ServiceAccounts), of(core.Events),
		of(apps.Deployments), of(apps.ReplicaSets), of(apps.StatefulSets), of(apps.DaemonSets), of(batch.Jobs),
	}
}

// resources is a flag that can be repeated.
type resources []measurer

func (r *resources) String() string { return "" }

// Set takes group/version/resource, with core for the core group.
func (r *resources) Set(text string) error {
	parts := strings.Split(text, "/")
	if len(parts) != 3 {
		return errors.New("want group/version/resource, such as apps/v1/deployments or core/v1/pods")
	}
	gvr := schema.GroupVersionResource{Group: parts[0], Version: parts[1], Resource: parts[2]}
	if gvr.Group == "core" {
		gvr.Group = ""
	}
	*r = append(*r, of(kind.OfResource[*unstructured.Unstructured](gvr)))
	return nil
}

func main() {
	var wanted resources
	flag.Var(&wanted, "resource", "group/version/resource, such as example.com/v1/websites; can be repeated, and replaces the usual kinds")
	path := flag.String("kubeconfig", "", "path of a kubeconfig")
	name := flag.String("context", "", "context of the kubeconfig")
	sample := flag.Int64("sample", 500, "number of objects of a kind that are measured")
	flag.Parse()
	if len(wanted) == 0 {
		wanted = usual()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	cluster, err := kubeconfig.Load(kubeconfig.Options{Path: *path, Context: *name})
	if err == nil {
		err = report(ctx, os.Stdout, cluster.Connection, wanted, *sample)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// report measures the kinds and writes a table. A kind that cannot be listed has its error in place of numbers.
func report(ctx context.Context, w io.Writer, server client.Connection, kinds []measurer, sample int64) error {
	if sample < 1 {
		return errors.New("the sample must have at least one object")
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "RESOURCE\tOBJECTS\tWHOLE\tNO MANAGED FIELDS\tPACKED\tMETADATA") // Flush has the error
	sum := cost{resource: "all"}
	var totals [options]float64
	for _, measure := range kinds {
		c := measure(ctx, server, sample)
		if err := ctx.Err(); err != nil {
			return err
		}
		if c.err != nil {
			_, _ = fmt.Fprintf(t, "%s\t%v\n", c.resource, c.err)
			continue
		}
		sum.objects += c.objects
		_, _ = fmt.Fprintf(t, "%s\t%d", c.resource, c.objects)
		for o := range options {
			totals[o] += c.total(o)
			_, _ = fmt.Fprintf(t, "\t%s (%s)", size(c.total(o)), size(c.bytes[o]))
		}
		_, _ = fmt.Fprintln(t)
	}
	_, _ = fmt.Fprintf(t, "%s\t%d", sum.resource, sum.objects)
	for o := range options {
		_, _ = fmt.Fprintf(t, "\t%s", size(totals[o]))
	}
	_, _ = fmt.Fprintln(t)
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, `
In brackets is the heap of one object, as measured. The cache itself takes about 0.1 KiB per object more. A projection
(controller.OpenProjected) takes that and the size of your struct. The garbage collector needs room as well: with the
usual GOGC a process takes up to twice its heap.`)
	return err
}

func size(bytes float64) string {
	if bytes < 1<<20 {
		return fmt.Sprintf("%.1f KiB", bytes/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", bytes/(1<<20))
}
