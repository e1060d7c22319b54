package ops

import (
	"io"
	"net/rpc"
	"os"
	"os/exec"
	"os/signal"
	"time"
)

// serverArg is the argument that makes a program the server of another one.
const serverArg = "serve-benchmarks"

// other is another process of this program. It ends when this one does, even if this one is killed.
type other struct {
	calls   *rpc.Client
	process *exec.Cmd
}

// startOther runs this program once more: its main or TestMain calls ServeOthers.
func startOther() (*other, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	o := &other{process: exec.Command(self, serverArg)}
	o.process.Stderr = os.Stderr
	in, err := o.process.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := o.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := o.process.Start(); err != nil {
		return nil, err
	}
	o.calls = rpc.NewClient(pipes{out, in})
	return o, nil
}

// Close ends the process.
func (o *other) Close() {
	_ = o.calls.Close()
	_ = o.process.Wait()
}

// server is a wireServer in another process, so that this process uses only the time and the memory
// of a client.
type server struct {
	*other
	URL     string
	objects int
}

func startServer(has Contents) (*server, error) {
	o, err := startOther()
	if err != nil {
		return nil, err
	}
	s := &server{other: o, objects: has.Objects}
	if err := s.calls.Call("Server.Serve", has, &s.URL); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// encode has the server encode events for send or answerList. It returns the version of the last
// one.
func (s *server) encode(events Events) (last string, err error) {
	err = s.calls.Call("Server.Encode", events, &last)
	return last, err
}

// send has the server send the encoded events, one burst in each period of length every, or all as
// fast as they are read if every is zero. It returns the times at which the bursts were sent, in
// nanoseconds since 1970.
func (s *server) send(every time.Duration) (sent []int64, err error) {
	err = s.calls.Call("Server.Send", every, &sent)
	return sent, err
}

// expireWatch ends a watch and has later ones end with 410. It returns when the client lists again.
func (s *server) expireWatch() error { return s.calls.Call("Server.ExpireWatch", 0, nil) }

// answerList answers that list, and sends the encoded events to the next watch.
func (s *server) answerList() error { return s.calls.Call("Server.AnswerList", 0, nil) }

// ServeOthers reports whether another process has started this one as its server. Then it serves
// before it returns, until that process closes the connection or ends.
func ServeOthers() bool {
	if len(os.Args) != 2 || os.Args[1] != serverArg {
		return false
	}
	signal.Ignore(os.Interrupt) // a terminal sends it to both processes, and the other one decides
	calls := rpc.NewServer()
	for name, receiver := range map[string]any{"Server": &actions{}, "Cluster": &cluster{}, "Program": &programs{}, "Cache": fillingCache{}} {
		if err := calls.RegisterName(name, receiver); err != nil {
			panic(err) // a bug
		}
	}
	in := caller{in: os.Stdin, gone: make(chan struct{}, 1)}
	// Nobody waits for ServeConn: a call may wait for a client that has ended.
	go calls.ServeConn(pipes{in, os.Stdout})
	<-in.gone
	return true
}

// caller reads calls, and notes the end.
type caller struct {
	in   io.Reader
	gone chan struct{} // gets a value at the end; it has room for one
}

// Read implements io.Reader.
func (c caller) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	if err != nil {
		select {
		case c.gone <- struct{}{}:
		default:
		}
	}
	return n, err
}

// pipes are a connection.
type pipes struct {
	io.Reader
	io.WriteCloser
}
