package client_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/client"
)

// at fails unless the followers are at these versions.
func at(t *testing.T, all []*follower, want ...string) {
	t.Helper()
	synctest.Wait()
	for n, f := range all {
		if rv := f.at(); rv != want[n] {
			t.Errorf("follower %d is at %q, want %q", n, rv, want[n])
		}
	}
}

// hangingDial hangs at its n-th call, until it is released.
func hangingDial(s *freshServer, n int32) (dial func(context.Context, string, string) (net.Conn, error), release func()) {
	var calls atomic.Int32
	released := make(chan struct{})
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if calls.Add(1) == n {
			<-released
			return nil, errors.New("released")
		}
		return s.dial(ctx, network, address)
	}, func() { close(released) }
}

// A request whose answer does not come holds up no other.
func TestSlowAnswerHoldsUpNobody(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newFreshServer(t)
		s.mutes["slow"] = true
		all, stop := follow(t, connect(t, apiURL, client.ConnectionOptions{Insecure: true, DialContext: s.dial}), "slow", "other")
		s.change(func() { s.version = 2 })
		at(t, all, "1", "2")
		stop()
		s.stop()
	})
}

// A connection that cannot be made holds up others for a second.
func TestHangingDialHoldsUpForAMoment(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newFreshServer(t)
		dial, release := hangingDial(s, 1)
		all, stop := follow(t, connect(t, apiURL, client.ConnectionOptions{Insecure: true, DialContext: dial}), "first", "second")
		at(t, all, "", "")
		time.Sleep(time.Second)
		at(t, all, "1", "1") // the first one takes the connection of the second
		release()
		stop()
		s.stop()
	})
}

// Without HTTP/2, requests share no connection, and do not wait for each other.
func TestNoTurnsOverHTTP1(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newFreshServer(t)
		s.stop()
		ca := newAuthority(t)
		cert, key := ca.issue(t, "api.test")
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		s.memServer = newServer(&http.Server{
			Handler: http.HandlerFunc(s.serve), TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}},
			TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
		})
		dial, release := hangingDial(s, 2)
		all, stop := follow(t, connect(t, apiURL, client.ConnectionOptions{Insecure: true, DialContext: dial}), "first", "second", "third")
		at(t, all, "1", "1", "1") // the second one takes a connection of the third
		release()
		stop()
		s.stop()
	})
}
