//go:build !linux

package cluster

import "syscall"

// childAttr has nothing to set: dying with the parent is a feature of Linux.
func childAttr() *syscall.SysProcAttr {
	return nil
}
