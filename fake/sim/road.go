package sim

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake/faults"
)

// road is the way of one life of a process to the server.
type road struct {
	run  *run
	life *life
}

// RoundTrip implements http.RoundTripper.
func (d road) RoundTrip(r *http.Request) (*http.Response, error) {
	if d.life.dead.Load() {
		return nil, errCrashed
	}
	if _, ok := parseAddress(r.URL.Path); !ok {
		// It has no turn, and no fault strikes it. Clients hold locks while they discover, and a bubble does not stand
		// still while a goroutine waits for a lock.
		return d.run.transport.RoundTrip(r)
	}
	body, err := bodyOf(r)
	if err != nil {
		return nil, err
	}
	o := &op{life: d.life, at: point{call: callOf(r, body)}, query: r.URL.RawQuery, body: body, gone: r.Context().Done()}
	o.apply = strings.HasPrefix(r.Header.Get("Content-Type"), "application/apply-patch")
	if err := d.run.gate.pass(o); err != nil {
		return nil, cmp.Or(r.Context().Err(), err)
	}
	sent := r.Clone(r.Context())
	sent.Body = io.NopCloser(bytes.NewReader(body))
	if o.asOf != "" {
		query := sent.URL.Query()
		query.Set("resourceVersion", o.asOf)
		query.Set("resourceVersionMatch", string(metav1.ResourceVersionMatchExact))
		sent.URL.RawQuery = query.Encode()
	}
	answer, err := d.run.transport.RoundTrip(sent)
	if err == nil {
		o.code = answer.StatusCode
		if o.code >= http.StatusBadRequest {
			o.message = messageOf(answer)
		}
		if o.at.verb == faults.VerbWatch && o.code == http.StatusOK {
			o.stream = newStream(d, o, answer)
			answer.Body = o.stream
		}
	}
	if o.late > 0 {
		select {
		case <-time.After(o.late):
		case <-o.gone:
		}
	}
	if (o.crashAfter || o.lost) && err == nil {
		_ = answer.Body.Close()
		answer, err = nil, errLost
	}
	if o.crashAfter {
		d.life.crash()
		err = errCrashed
	}
	return answer, err
}

// messageOf returns the message of a refusal, and leaves the answer as it was.
func messageOf(answer *http.Response) string {
	body, _ := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	answer.Body = io.NopCloser(bytes.NewReader(body))
	var status metav1.Status
	_ = decode(body, answer.Header.Get("Content-Type"), &status)
	return status.Message
}

func bodyOf(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(r.Body)
	return body, errors.Join(err, r.Body.Close())
}
