package ops

import (
	"github.com/kinform/kinform/bench/internal/measure"
)

// wireEvents are watch events from the bytes of an API server that sends as fast as it can.
func wireEvents(w *World) []measure.Op {
	var all []measure.Op
	for _, c := range []struct{ name, accept string }{{"json", "application/json"}, {"protobuf", protobufType}} {
		all = append(all, measure.Op{
			Name: "wire-events/" + c.name,
			Lines: []measure.Line{
				{Title: "watch event over HTTP to 1 handler, " + c.name, Unit: measure.Nanoseconds, Goal: 1.5},
				{Title: "processor time of it, " + c.name, Unit: "cpu-ns", Goal: 1 / 0.75},
			},
			Setup: func() (measure.Sides, error) {
				return bothOverHTTP(func(start handlerStarter) (measure.Side, error) { return w.wireEvents(start, c.accept) })
			},
		})
	}
	return all
}

// eventsAtOnce is the number of events that the server writes at once.
const eventsAtOnce = 50

func (w *World) wireEvents(start handlerStarter, accept string) (measure.Side, error) {
	p, err := w.newWirePipeline(start, accept)
	if err != nil {
		return measure.Side{}, err
	}
	return measure.Side{Close: p.stop, Run: func(m measure.Meter, n int) error {
		m.StopTimer()
		if _, err := p.server.encode(Events{MediaType: p.media, N: n, Burst: eventsAtOnce}); err != nil {
			return err
		}
		p.tally.left, p.tally.at = n, 0
		began := processTime()
		m.StartTimer()
		if _, err := p.server.send(0); err != nil {
			return err
		}
		<-p.tally.done
		m.ReportMetric(float64(processTime()-began)/float64(n), "cpu-ns")
		return nil
	}}, nil
}
