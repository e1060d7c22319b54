package measure

// Series collects the measures that an operation takes itself when it runs several times in a
// row. The zero Series is ready for use.
type Series struct{ values map[string][]float64 }

// Add adds the value of one operation.
func (s *Series) Add(value float64, unit string) {
	if s.values == nil {
		s.values = map[string][]float64{}
	}
	s.values[unit] = append(s.values[unit], value)
}

// Report reports the median of each unit to m.
func (s *Series) Report(m Meter) {
	for unit, values := range s.values {
		m.ReportMetric(Median(values), unit)
	}
}
