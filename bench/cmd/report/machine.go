package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
)

// machine describes the machine and the versions of a measurement, without identifying its
// owner.
type machine struct {
	hardware
	commit   string // what was measured; empty if unknown
	goes     string
	clientGo string
	load     string // the load average at the start; empty if unknown
}

// hardware is what ratios depend on: results from different hardware do not compare.
type hardware struct {
	CPU        string
	Processors int // that were used
	System     string
}

func (h hardware) String() string {
	return fmt.Sprintf("%s, %d processors used, %s", h.CPU, h.Processors, h.System)
}

func thisMachine() machine {
	m := machine{
		hardware: hardware{CPU: "unknown processor", Processors: runtime.GOMAXPROCS(0), System: runtime.GOOS + "/" + runtime.GOARCH},
		goes:     runtime.Version(),
	}
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		m.CPU = modelName(string(info), m.CPU)
	}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.load, _, _ = strings.Cut(string(load), " ")
	}
	if commit, err := exec.Command("git", "describe", "--always", "--dirty=, changed").Output(); err == nil {
		m.commit = strings.TrimSpace(string(commit))
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
	return err == nil && load > float64(m.Processors)/4
}

func (m machine) String() string {
	s := fmt.Sprintf("%s, %s, client-go %s", m.hardware, m.goes, m.clientGo)
	if m.commit != "" {
		s = "Commit " + m.commit + "; " + s
	}
	if m.load != "" {
		s += ", load average at the start " + m.load
	}
	return s
}
