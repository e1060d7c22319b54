package proxy

import "time"

// End says how a connection ends.
type End uint8

const (
	// Open keeps connections open.
	Open End = iota
	// FIN closes the connection in order, as a server that leaves.
	FIN
	// RST resets the connection, as a server that died, or a firewall.
	RST
)

// Fault says what happens to connections. The zero value forwards everything at once.
type Fault struct {
	// Swallow takes the bytes of both directions and forwards none of them. New connections are accepted and stay
	// silent. A connection that lost bytes stays silent for ever, because TLS cannot go on; its end is forwarded once
	// nothing is swallowed any more.
	Swallow bool

	// Delay is the wait before each piece that is forwarded.
	Delay time.Duration

	// Piece is the largest number of bytes that is forwarded at once. Zero means 32 KiB. Together with Delay it makes a
	// trickle.
	Piece int

	// End is how connections end once After bytes came from the server: bytes that came while this Fault is set. With
	// After zero, open connections end at once and new ones when they are accepted.
	End   End
	After int64
}

func (f *Fault) piece() int {
	if f.Piece > 0 {
		return min(f.Piece, largestPiece)
	}
	return largestPiece
}

const largestPiece = 32 << 10
