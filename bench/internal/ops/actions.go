package ops

import (
	"bytes"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinform/kinform/bench/internal/pods"
)

// Contents are the objects of a server.
type Contents struct {
	Kind    string // "pods", "fat pods" or "sites"
	Objects int
	Streams bool // it knows the streaming list
}

// Events are updates of pods.
type Events struct {
	MediaType string
	N         int
	Burst     int // that are sent at once
}

// actions are the calls that another process can send to its server, by the rules of net/rpc. They
// come one after the other.
type actions struct {
	server *wireServer
	pods   []corev1.Pod
	next   int // counts updates
	bodies [][]byte
}

// Serve starts the server and returns its URL.
func (a *actions) Serve(has Contents, url *string) (err error) {
	switch has.Kind {
	case "sites":
		a.server, err = newSiteServer(has.Objects, has.Streams)
	case "fat pods":
		a.server, err = newWireServer(pods.Fat(has.Objects), has.Streams)
	default:
		list := pods.List(has.Objects)
		a.pods = list.Items
		a.server, err = newWireServer(list, has.Streams)
	}
	if err == nil {
		*url = a.server.URL
	}
	return err
}

// firstVersion is newer than the versions of all lists.
const firstVersion = 1 << 40

// Encode encodes events and returns the version of the last.
func (a *actions) Encode(events Events, last *string) error {
	a.bodies = nil
	for left := events.N; left > 0; left -= events.Burst {
		var body bytes.Buffer
		send := eventEncoder(&body, events.MediaType)
		for range min(left, events.Burst) {
			pod := &a.pods[scatter(a.next, len(a.pods))]
			a.next++
			*last = strconv.Itoa(firstVersion + a.next)
			pod.ResourceVersion = *last
			if err := send(watch.Modified, pod); err != nil {
				return err
			}
		}
		a.bodies = append(a.bodies, body.Bytes())
	}
	return nil
}

// Send sends the encoded events, a burst at a time, and returns the time at which each burst was
// sent.
func (a *actions) Send(every time.Duration, sent *[]int64) error {
	wait := func() error { return nil }
	if every > 0 {
		pace, err := newPacer(every)
		if err != nil {
			return err
		}
		defer pace.close()
		wait = pace.wait
	}
	for _, body := range a.bodies {
		if err := wait(); err != nil {
			return err
		}
		*sent = append(*sent, time.Now().UnixNano())
		a.server.events <- body
	}
	return nil
}

// ExpireWatch ends a watch and returns when the client lists again.
func (a *actions) ExpireWatch(int, *int) error {
	a.server.relist.expire <- struct{}{}
	<-a.server.relist.listing
	return nil
}

// AnswerList answers that list, and sends the encoded events. It returns once the next watch takes
// them, so the client has read the list.
func (a *actions) AnswerList(int, *int) error {
	a.server.relist.proceed <- struct{}{}
	return a.Send(0, new([]int64))
}
