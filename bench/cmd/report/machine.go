package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
)

// machine describes the machine and the versions of a measurement, without identifying its
// owner.
type machine struct {
	cpu      string
	procs    int
	system   string
	goes     string
	clientGo string
	load     string // the load average at the start; empty if unknown
}

func thisMachine() machine {
	m := machine{
		cpu:    "unknown processor",
		procs:  runtime.GOMAXPROCS(0),
		system: runtime.GOOS + "/" + runtime.GOARCH,
		goes:   runtime.Version(),
	}
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		m.cpu = modelName(string(info), m.cpu)
	}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.load, _, _ = strings.Cut(string(load), " ")
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == "k8s.io/client-go" {
				m.clientGo = dep.Version
			}
		}
	}
	return m
}

// modelName finds the processor's name in the content of /proc/cpuinfo.
func modelName(info, unknown string) string {
	for line := range strings.Lines(info) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return unknown
}

// busy reports whether others used the machine when the run began.
func (m machine) busy() bool {
	load, err := strconv.ParseFloat(m.load, 64)
	return err == nil && load > float64(m.procs)/4
}

func (m machine) String() string {
	s := fmt.Sprintf("%s, %d processors used, %s, %s, client-go %s", m.cpu, m.procs, m.system, m.goes, m.clientGo)
	if m.load != "" {
		s += ", load average at the start " + m.load
	}
	return s
}
