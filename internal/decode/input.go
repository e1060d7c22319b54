package decode

import "io"

const (
	// inputWait is the smallest size of an input's buffer, in bytes. It is enough for the bookmarks of a watch
	// that waits for events.
	inputWait = 1 << 10
	// inputRoom is the size that follows. It is enough for a watch with few events.
	inputRoom = 8 << 10
	// inputRush is the size of the buffer while the stream fills smaller ones, so that there are
	// fewer reads.
	inputRush = 64 << 10
	// inputIdle is the number of reads in a row after which a larger buffer is given up for one of inputRoom, or
	// of inputWait, if each of them brought less than half of that. Reads of bookmarks count, and a server sends
	// one a minute.
	inputIdle = 16
)

// input is a stream that can hold a piece, in order to return it whole or to read it again.
type input struct {
	in   io.Reader
	buf  []byte
	at   int   // everything before it in buf was consumed
	from int   // start of the held piece in buf; negative if none is held
	base int64 // position of buf in the stream
	most int64 // largest number of bytes of a piece
	err  error // in's error

	rush   bool // the last read that was not small filled the room
	small  int  // number of reads since that brought less than half of inputRoom, up to inputIdle
	widest int  // the most bytes that one of them brought
}

func newInput(in io.Reader, most int64) input { return input{in: in, from: -1, most: most} }

// Offset returns the number of bytes consumed.
func (in *input) Offset() int64 { return in.base + int64(in.at) }

// hold begins a piece, and release forgets it. rewind goes back to its beginning.
func (in *input) hold()    { in.from = in.at }
func (in *input) release() { in.from = -1 }
func (in *input) rewind()  { in.at = in.from }

// held returns the consumed part of the piece. It is valid until the next read.
func (in *input) held() []byte { return in.buf[in.from:in.at:in.at] }

// tooLarge reports whether the held piece exceeds the limit.
func (in *input) tooLarge() bool { return int64(in.at-in.from) > in.most }

// fill appends more of the stream to buf. If buf is full, it first drops the bytes that were
// consumed and are not held. It returns io.EOF at the end of the stream.
func (in *input) fill() error {
	if in.err != nil {
		return in.err
	}
	switch {
	case in.buf == nil:
		in.buf = make([]byte, 0, inputWait)
	case in.small >= inputIdle && in.at == len(in.buf) && in.from < 0:
		in.saveRoom()
	case len(in.buf) == cap(in.buf):
		in.makeRoom()
	}
	for range 100 {
		room := in.buf[len(in.buf):cap(in.buf)]
		n, err := in.in.Read(room)
		in.buf, in.err = in.buf[:len(in.buf)+n], err
		in.small, in.widest = in.small+1, max(in.widest, n)
		if n >= inputRoom/2 {
			in.rush, in.small, in.widest = n == len(room), 0, 0
		}
		if n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	in.err = io.ErrNoProgress
	return in.err
}

// saveRoom empties buf, which has nothing that is still needed, and makes it smaller if the last reads did not
// need its size.
func (in *input) saveRoom() {
	size := inputRoom
	if in.widest < inputWait/2 {
		size = inputWait
	}
	in.base += int64(in.at)
	in.buf, in.at = in.buf[:0], 0
	if cap(in.buf) > size {
		in.buf = make([]byte, 0, size)
	}
	in.small, in.widest = 0, 0
}

// makeRoom moves the bytes that are still needed to the beginning of buf. If they fill most of buf,
// or the stream has filled the room in it, buf grows, but not beyond the need of a piece of the
// allowed size.
func (in *input) makeRoom() {
	keep := in.at
	if in.from >= 0 {
		keep, in.from = in.from, 0
	}
	size := max(2*cap(in.buf), inputRoom)
	if in.rush {
		size = max(size, inputRush)
	}
	if enough := in.most + inputRoom; enough > 0 && enough < int64(size) {
		size = int(enough)
	}
	room := in.buf
	switch {
	case keep == 0:
		room = make([]byte, 0, max(size, cap(in.buf)+inputRoom))
	case cap(in.buf) < inputRoom, size > cap(in.buf) && (keep <= len(in.buf)/2 || in.rush && cap(in.buf) < inputRush):
		room = make([]byte, 0, size)
	}
	in.buf = append(room[:0], in.buf[keep:]...)
	in.at -= keep
	in.base += int64(keep)
}

// next returns the next byte without consuming it.
func (in *input) next() (byte, error) {
	if in.at == len(in.buf) {
		if err := in.fill(); err != nil {
			return 0, err
		}
	}
	return in.buf[in.at], nil
}
