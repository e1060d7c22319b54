package cluster

import (
	"bufio"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// A test binary that is killed, or aborted by its timeout, has no time to clean up.
func TestChildDiesWithItsParent(t *testing.T) {
	ports, err := freePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	addr := "127.0.0.1:" + ports[0]
	parent := exec.Command(os.Args[0], "fake-parent", addr, filepath.Join(t.TempDir(), "log"))
	stdout, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || line != "started: <nil>\n" {
		t.Errorf("the parent says %q, %v", line, err)
	}
	if conn, err := net.Dial("tcp", addr); err != nil {
		t.Errorf("the child does not serve: %v", err)
	} else {
		_ = conn.Close()
	}
	_ = parent.Process.Kill()
	_ = parent.Wait()
	// Its process id may stay until the process that adopted the child has waited for it. Its
	// socket does not stay.
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			return
		}
		_ = conn.Close()
		select {
		case <-ctx.Done():
			t.Fatal("the child outlived its parent")
		case <-time.After(10 * time.Millisecond):
		}
	}
}
