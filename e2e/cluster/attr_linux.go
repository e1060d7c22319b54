package cluster

import "syscall"

// childAttr makes a child die with the thread that started it, and keeps the terminal's Ctrl-C from
// it, so that only its Process ends it.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
