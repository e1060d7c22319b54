package chart

import (
	"math"
	"strconv"
)

// Times formats a ratio, such as "2.4×" or "14,000×".
func Times(v float64) string {
	if math.IsInf(v, 0) {
		return "∞"
	}
	return Short(v) + "×"
}

// Short formats v with two or three digits that count, and thousands apart.
func Short(v float64) string {
	switch a := math.Abs(v); {
	case a == 0:
		return "0"
	case a < 0.0995:
		return strconv.FormatFloat(v, 'g', 1, 64)
	case a < 9.95:
		return trim(strconv.FormatFloat(v, 'f', 2, 64))
	case a < 99.5:
		return trim(strconv.FormatFloat(v, 'f', 1, 64))
	}
	digits := math.Pow(10, math.Floor(math.Log10(math.Abs(v)))-2)
	return thousands(strconv.FormatFloat(math.Round(v/digits)*digits, 'f', 0, 64))
}

// trim takes away zeros behind the point.
func trim(s string) string {
	for s[len(s)-1] == '0' {
		s = s[:len(s)-1]
	}
	if s[len(s)-1] == '.' {
		s = s[:len(s)-1]
	}
	return s
}

func thousands(s string) string {
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Nanoseconds formats a duration, such as "12.3 ns" or "244 ms".
func Nanoseconds(v float64) string {
	return scaled(v, 1000, "ns", "µs", "ms", "s")
}

// Bytes formats an amount of memory.
func Bytes(v float64) string { return scaled(v, 1024, "B", "KB", "MB", "GB") }

func scaled(v, step float64, units ...string) string {
	i := 0
	for math.Abs(v) >= step*0.9995 && i < len(units)-1 {
		v /= step
		i++
	}
	return Short(v) + " " + units[i]
}
