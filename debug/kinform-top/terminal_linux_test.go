package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// openTerminal returns a terminal, and the end at which a person types.
func openTerminal(t *testing.T) (person, terminal *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = person.Close() })
	var number, locked uint32
	for request, arg := range map[uintptr]*uint32{syscall.TIOCSPTLCK: &locked, syscall.TIOCGPTN: &number} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, person.Fd(), request, uintptr(unsafe.Pointer(arg))); errno != 0 {
			t.Skip(errno)
		}
	}
	terminal, err = os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = terminal.Close() })
	return person, terminal
}

// A terminal passes on a key without Enter and without showing it, and is as before afterwards.
func TestByKey(t *testing.T) {
	person, terminal := openTerminal(t)
	before, err := stty(terminal, "-a")
	if err != nil {
		t.Skip(err)
	}
	restore, ok := byKey(terminal)
	if !ok {
		t.Fatal("it is a terminal")
	}
	if now, err := stty(terminal, "-a"); err != nil || !strings.Contains(now, "isig -icanon") || !strings.Contains(now, "-echo ") {
		t.Errorf("%v: %s", err, now)
	}
	if _, err := person.WriteString("xq"); err != nil {
		t.Fatal(err)
	}
	if !quits(terminal, true) {
		t.Error("q does not end it")
	}
	for range 2 {
		restore()
		if now, err := stty(terminal, "-a"); err != nil || now != before {
			t.Errorf("%v: %s, want %s", err, now, before)
		}
	}
}

func TestNoTerminal(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	restore, ok := byKey(null)
	restore()
	if ok {
		t.Error("it is no terminal")
	}
}
