package ops

import (
	"github.com/kinform/kinform/bench/internal/measure"
)

// wireEvents are watch events from the bytes of an API server that sends as fast as it can.
func wireEvents(w *World) []measure.Op {
	var all []measure.Op
	for _, c := range []struct{ name, accept string }{{"json", "application/json"}, {"protobuf", protobufType}} {
		all = append(all, measure.Op{
			Name:  "wire-events/" + c.name,
			Lines: line("watch event over HTTP to 1 handler, server included, "+c.name, measure.Nanoseconds, 1.5),
			Setup: func() (measure.Sides, error) {
				return bothOverHTTP(func(start handlerStarter) (measure.Side, error) { return w.wireEvents(start, c.accept) })
			},
		})
	}
	return all
}

// eventsPerBody is the number of events that the server writes at once.
const eventsPerBody = 50

func (w *World) wireEvents(start handlerStarter, accept string) (measure.Side, error) {
	p, err := w.newWirePipeline(start, accept)
	if err != nil {
		return measure.Side{}, err
	}
	return measure.Side{Close: p.stop, Run: func(m measure.Meter, n int) error {
		m.StopTimer()
		var bodies [][]byte
		for left := n; left > 0; left -= eventsPerBody {
			some, err := p.encode(1, min(left, eventsPerBody))
			if err != nil {
				return err
			}
			bodies = append(bodies, some...)
		}
		p.tally.left, p.tally.at = n, 0
		m.StartTimer()
		for _, body := range bodies {
			p.server.events <- body
		}
		<-p.tally.done
		return nil
	}}, nil
}
