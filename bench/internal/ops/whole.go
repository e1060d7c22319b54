package ops

import (
	"fmt"
	"time"

	"github.com/kinform/kinform/bench/internal/measure"
)

const (
	// wholeNodes is the largest number of nodes of a whole controller.
	wholeNodes = 10_000
	// wholeWorkers is the number of its workers, unless a row says otherwise.
	wholeWorkers = 4
	wallTime     = "wall-ns"
	peakRSS      = "B/rss"
)

// wholes compare whole programs: the controller of README.md, and its twins with client-go and controller-runtime. Each program
// is a process of its own, with a fake API server of its own in another one. Its costs are those of that process, collections
// of garbage included.
func wholes(w *World) (all []measure.Op) {
	n := max(min(w.Pods/10, wholeNodes), 1)
	for _, peer := range []struct {
		name string
		goal float64 // of processor time and allocations
	}{{"controller-runtime", 3}, {"client-go", 1.5}} {
		op := func(name, title, per string, p Program, nodes int, measured func(*program) (Used, error), more ...measure.Line) {
			title = "beside " + peer.name + ": " + title
			lines := append([]measure.Line{
				{Title: title + ", processor time" + per, Unit: measure.Nanoseconds, Goal: peer.goal},
				{Title: title + ", allocations" + per, Unit: measure.Allocs, Goal: peer.goal},
			}, more...)
			for i := range more {
				lines[2+i].Title = title + more[i].Title
			}
			all = append(all, measure.Op{
				Name: "whole/" + name + "/" + peer.name, Whole: true, Rounds: 6, Lines: lines,
				Setup: func() (measure.Sides, error) { return wholeSides(peer.name, p, nodes, measured) },
			})
		}
		op("first", "start to the first reconcile of "+some(n, "node", "nodes")+" with a pod each", " per node", Program{Workers: wholeWorkers, Kinds: 2}, n, nil,
			measure.Line{Title: ", time per node", Unit: wallTime, Goal: 1}, measure.Line{Title: ", peak of resident memory", Unit: peakRSS, Goal: 1})
		op("read", "event and reconcile that only reads", "", Program{Workers: wholeWorkers, Kinds: 2}, n, (*program).read)
		for _, workers := range []int{1, wholeWorkers, 16} {
			op(fmt.Sprintf("patch-%d", workers), "event and reconcile with a PATCH, "+some(workers, "worker", "workers"), "",
				Program{Workers: workers, Kinds: 2}, n, (*program).patch, measure.Line{Title: ", time per PATCH", Unit: wallTime, Goal: 1})
		}
		for _, kinds := range []int{2, len(manyKinds)} {
			op(fmt.Sprintf("start-%d", kinds), fmt.Sprintf("start to the first reconcile, 1 object, %d kinds", kinds), "", Program{Workers: wholeWorkers, Kinds: kinds}, 1, nil,
				measure.Line{Title: ", time", Unit: wallTime, Goal: 1})
		}
	}
	return append(all, exampleOps(w)...)
}

// program is a Program in another process, with its cluster in a third one.
type program struct {
	Program
	nodes   int
	process *other // nil if it is not running
	cluster *other
}

// wholeSides measures Kinform's program beside its peer. measured is called for a running program; nil measures its start.
func wholeSides(peer string, what Program, nodes int, measured func(*program) (Used, error)) (sides measure.Sides, err error) {
	if sides.Kinform, err = wholeSide("kinform", what, nodes, measured); err != nil {
		return sides, err
	}
	if sides.ClientGo, err = wholeSide(peer, what, nodes, measured); err != nil {
		sides.Close()
	}
	return sides, err
}

func wholeSide(with string, what Program, nodes int, measured func(*program) (Used, error)) (side measure.Side, err error) {
	p := &program{Program: what, nodes: nodes}
	p.With = with
	side.Close = p.close
	if err = p.serve(); err == nil && measured != nil {
		_, err = p.start()
	}
	if err != nil {
		p.close()
		return side, err
	}
	if measured == nil {
		measured = (*program).restart
	}
	side.Run = func(m measure.Meter, n int) error {
		var taken measure.Series
		for range n {
			used, err := measured(p)
			if err != nil {
				return err
			}
			per := float64(nodes)
			taken.Add(float64(used.CPU)/per, measure.Nanoseconds)
			taken.Add(float64(used.Bytes)/per, measure.Bytes)
			taken.Add(float64(used.Allocs)/per, measure.Allocs)
			taken.Add(float64(used.Wall)/per, wallTime)
			taken.Add(float64(used.Peak), peakRSS)
		}
		taken.Report(m)
		return nil
	}
	return side, nil
}

// serve starts the cluster.
func (p *program) serve() (err error) {
	if p.cluster, err = startOther(); err != nil {
		return err
	}
	if p.Example != "" {
		return p.cluster.calls.Call("Cluster.ServeExample", p.Program, &p.URL)
	}
	return p.cluster.calls.Call("Cluster.Serve", p.nodes, &p.URL)
}

// start returns when each node has been reconciled.
func (p *program) start() (used Used, err error) {
	if p.process, err = startOther(); err != nil {
		return used, err
	}
	if err = p.process.calls.Call("Program.Start", p.Program, nil); err != nil {
		return used, err
	}
	return p.await()
}

// await waits for a reconcile of each node, or for the writes of an example.
func (p *program) await() (used Used, err error) {
	if p.Example != "" {
		return p.awaitExample()
	}
	err = p.process.calls.Call("Program.Await", p.nodes, &used)
	return used, err
}

// restart starts the program anew.
func (p *program) restart() (Used, error) {
	p.stop()
	return p.start()
}

func (p *program) read() (Used, error) {
	if err := p.cluster.calls.Call("Cluster.Touch", 0, nil); err != nil {
		return Used{}, err
	}
	return p.await()
}

// patch returns the time from the first change to the last answer.
func (p *program) patch() (Used, error) {
	began := time.Now()
	if err := p.cluster.calls.Call("Cluster.Unset", 0, nil); err != nil {
		return Used{}, err
	}
	took := time.Since(began)
	used, err := p.await()
	used.Wall = took
	return used, err
}

func (p *program) stop() {
	if p.process != nil {
		p.process.Close()
	}
	p.process = nil
}

func (p *program) close() {
	p.stop()
	if p.cluster != nil {
		p.cluster.Close()
	}
	p.cluster = nil
}
