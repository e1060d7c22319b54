package reflector

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestClassifyErrors(t *testing.T) {
	type class struct {
		Expired, TooLarge, Client, Refused bool
		Pause                              pause
	}
	want := map[string]class{
		"expired":              {Expired: true, Client: true, Refused: true, Pause: pauseBusy},
		"gone":                 {Expired: true, Client: true, Refused: true, Pause: pauseBusy},
		"expired-without-code": {Expired: true, Pause: pauseBusy},
		"mentions-too-large":   {Pause: pauseBusy},
		"too-large":            {TooLarge: true, Pause: pauseBusy},
		"too-large-1.17":       {TooLarge: true, Pause: pauseBusy},
		"timeout":              {Pause: pauseBusy},
		"busy":                 {Pause: pauseBusy},
		"unavailable":          {Pause: pauseBusy},
		"refused":              {Pause: pauseAway},
		"reset":                {Pause: pauseAway},
		"no-name":              {Pause: pauseAway},
		"dial-timeout":         {Pause: pauseAway},
		"unanswered":           {Pause: pauseAway},
		"eof":                  {Pause: pauseResume},
		"reset-later":          {Pause: pauseResume},
		"http2":                {Pause: pauseResume},
		"http2-lost":           {Pause: pauseResume},
		"unknown":              {Pause: pauseBusy},
		"internal":             {Pause: pauseBusy},
		"store-read":           {Pause: pauseBusy},
		"forbidden":            {Client: true, Pause: pauseDenied},
		"unauthorized":         {Client: true, Pause: pauseDenied},
		"not-found":            {Client: true, Refused: true, Pause: pauseDenied},
		"method-not-allowed":   {Client: true, Refused: true, Pause: pauseDenied},
		"not-implemented":      {Pause: pauseDenied},
		"bad-request":          {Client: true, Refused: true, Pause: pauseDenied},
		"untrusted":            {Pause: pauseDenied},
		"unusable":             {Pause: pauseBusy},
		"out-of-order":         {Pause: pauseBusy},
	}
	for word, want := range want {
		err := failure(word, 0)
		got := class{isExpired(err), isTooLarge(err), isClientError(err), isRefused(err), pauseFor(err)}
		if got != want {
			t.Errorf("%s: %+v, want %+v", word, got, want)
		}
	}
}

// statusError is a Status with a code and no reason, as a proxy's answer becomes one.
func statusError(code int32, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Message: message}}
}

func TestClassifyCodes(t *testing.T) {
	type class struct {
		client, refused, unsupported, noStream bool
		pause                                  pause
	}
	for code, want := range map[int32]class{
		200: {pause: pauseBusy},
		299: {pause: pauseBusy},
		300: {pause: pauseDenied},
		399: {pause: pauseDenied},
		400: {client: true, refused: true, unsupported: true, noStream: true, pause: pauseDenied},
		401: {client: true, pause: pauseDenied},
		403: {client: true, pause: pauseDenied},
		404: {client: true, refused: true, unsupported: true, pause: pauseDenied},
		405: {client: true, refused: true, unsupported: true, noStream: true, pause: pauseDenied},
		408: {client: true, refused: true, pause: pauseBusy},
		409: {client: true, refused: true, pause: pauseBusy},
		422: {client: true, refused: true, unsupported: true, noStream: true, pause: pauseDenied},
		425: {client: true, refused: true, pause: pauseBusy},
		429: {pause: pauseBusy},
		499: {client: true, refused: true, unsupported: true, pause: pauseDenied},
		500: {pause: pauseBusy},
		501: {unsupported: true, noStream: true, pause: pauseDenied},
		502: {pause: pauseBusy},
		503: {pause: pauseBusy},
		504: {pause: pauseBusy},
	} {
		err := statusError(code, "")
		got := class{isClientError(err), isRefused(err), isUnsupported(err), cannotStream(err), pauseFor(err)}
		if got != want {
			t.Errorf("%d: %+v, want %+v", code, got, want)
		}
		if got, want := isLasting(err, ""), want.pause == pauseDenied; got != want {
			t.Errorf("%d without a version is lasting: %v, want %v", code, got, want)
		}
	}
}

// The same failures come from sources that do not use an http.Client, or differ only in their text.
func TestClassifyConnections(t *testing.T) {
	get := func(err error) error { return &url.Error{Op: "Get", URL: "https://server", Err: err} }
	alert := func(number tls.AlertError) error { return &net.OpError{Op: "remote error", Err: number} }
	for _, c := range []struct {
		name string
		err  error
		want pause
		tls  bool
	}{
		{"end", io.EOF, pauseResume, false},
		{"reset", syscall.ECONNRESET, pauseResume, false},
		{"refused", syscall.ECONNREFUSED, pauseAway, false},
		{"no name", &net.DNSError{Err: "no such host"}, pauseAway, false},
		{"HTTP/2 lost", errors.New("http2: client connection lost"), pauseResume, false},
		{"HTTP/2 stream", errors.New("stream error: stream ID 7; INTERNAL_ERROR"), pauseResume, false},
		{"HTTP/2 connection", errors.New("connection error: PROTOCOL_ERROR"), pauseResume, false},
		{"a Status about another connection", statusError(500, "the webhook failed: stream error: stream ID 7"), pauseBusy, false},
		{"untrusted", get(&tls.CertificateVerificationError{Err: errors.New("unknown authority")}), pauseDenied, true},
		{"no TLS", get(tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}), pauseDenied, true},
		{"HTTP where HTTPS was expected", get(http.ErrSchemeMismatch), pauseDenied, true},
		{"bad certificate", get(alert(42)), pauseDenied, true},
		{"a server that fails", get(alert(80)), pauseAway, false},
	} {
		if got := pauseFor(c.err); got != c.want {
			t.Errorf("%s: pause %q, want %q", c.name, pauses[got], pauses[c.want])
		}
		if isTLS(c.err) != c.tls || isLasting(c.err, "") != c.tls {
			t.Errorf("%s: TLS %v, lasting %v", c.name, isTLS(c.err), isLasting(c.err, ""))
		}
	}
}

// A source refuses a request without a Status by errors.ErrUnsupported.
func TestUnsupportedBySource(t *testing.T) {
	if !isUnsupported(failure("unsupported", 0)) || isUnsupported(io.EOF) {
		t.Error("errors.ErrUnsupported is no refusal, or io.EOF is one")
	}
}

// A longer Retry-After than five minutes is a mistake.
func TestRetryAfterIsBounded(t *testing.T) {
	for seconds, want := range map[int]time.Duration{0: 0, 7: 7 * time.Second, 300: 5 * time.Minute, 301: 5 * time.Minute} {
		if got := retryAfter(failure("busy", seconds)); got != want {
			t.Errorf("after %d s: %v, want %v", seconds, got, want)
		}
	}
	if got := retryAfter(io.EOF); got != 0 {
		t.Errorf("%v without an answer", got)
	}
}

// After a lost connection, the next one may lead to another server.
func TestConnectionLost(t *testing.T) {
	for p, want := range map[pause]bool{
		noPause: false, pauseResume: true, pauseRetry: true, pauseAway: true, pauseDenied: false, pauseBusy: false,
	} {
		if p.connectionLost() != want {
			t.Errorf("%s: %v, want %v", pauses[p], !want, want)
		}
	}
}
