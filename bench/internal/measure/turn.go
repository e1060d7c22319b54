package measure

import (
	"runtime"
	"time"
)

// turn measures one side, a slice at a time.
type turn struct {
	side   Side
	values Values
	whole  bool
	n      int // operations in a slice
}

// maxOps limits the operations of a slice, in case a side takes no time at all.
const maxOps = 1 << 30

// calibrate warms the side up and sets n.
func (t *turn) calibrate(slice time.Duration) error {
	for {
		m, err := t.run()
		if err != nil || t.whole {
			return err
		}
		if m.elapsed >= slice/4 || t.n >= maxOps {
			t.n = max(int(float64(t.n)*float64(slice)/float64(max(m.elapsed, 1))), 1)
			return nil
		}
		t.n *= 4
	}
}

func (t *turn) run() (*meter, error) {
	if t.whole {
		runtime.GC()
	}
	m := &meter{}
	m.StartTimer()
	err := t.side.Run(m, t.n)
	m.StopTimer()
	return m, err
}

// take measures one slice.
func (t *turn) take() error {
	m, err := t.run()
	if err != nil {
		return err
	}
	n := float64(t.n)
	taken := map[string]float64{
		Nanoseconds: float64(m.elapsed) / n,
		Bytes:       float64(m.bytes) / n,
		Allocs:      float64(m.allocs) / n,
	}
	for unit, value := range m.reported {
		taken[unit] = value
	}
	for unit, value := range taken {
		t.values[unit] = append(t.values[unit], value)
	}
	return nil
}

// meter is the Meter of a slice.
type meter struct {
	running       bool
	start         time.Time
	before        runtime.MemStats
	elapsed       time.Duration
	bytes, allocs uint64
	reported      map[string]float64
}

func (m *meter) StartTimer() {
	if m.running {
		return
	}
	m.running = true
	runtime.ReadMemStats(&m.before)
	m.start = time.Now()
}

func (m *meter) StopTimer() {
	if !m.running {
		return
	}
	m.elapsed += time.Since(m.start)
	m.running = false
	var after runtime.MemStats
	runtime.ReadMemStats(&after)
	m.bytes += after.TotalAlloc - m.before.TotalAlloc
	m.allocs += after.Mallocs - m.before.Mallocs
}

func (m *meter) ReportMetric(value float64, unit string) {
	if m.reported == nil {
		m.reported = map[string]float64{}
	}
	m.reported[unit] = value
}
