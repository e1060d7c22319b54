package proxy

import "time"

// End is a way to end a connection.
type End uint8

const (
	// Open keeps connections open.
	Open End = iota
	// FIN closes the connection in order, like a server that shuts down.
	FIN
	// RST resets the connection, like a firewall or a server that crashed.
	RST
)

// Fault describes the damage to connections. The zero value forwards everything at once.
type Fault struct {
	// Swallow drops the bytes of both directions. New connections are accepted and stay silent. A
	// connection that lost bytes stays silent for ever, because TLS cannot continue. Its end is
	// forwarded once Swallow is off.
	Swallow bool

	// Delay is the wait before each forwarded piece.
	Delay time.Duration

	// Piece is the largest number of bytes that are forwarded at once. Zero means 32 KiB. A small
	// Piece with a Delay makes a slow connection.
	Piece int

	// End is the way in which connections end after the server has sent After bytes while this
	// Fault is set. With After zero, open connections end at once, and new ones when they are
	// accepted.
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
