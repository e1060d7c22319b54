package reflector

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A script is a list of blocks "list" or "watch", each answering one request, "xN" times
// if the head line ends so, with indented lines:
//
//	obj NAME RV                    an object of a list
//	ADDED|MODIFIED|DELETED NAME RV an event; - for no version
//	BOOKMARK RV
//	END RV                         the bookmark that ends initial events; - for no version
//	bad KEY RV                     an object that cannot be decoded; - for unknown
//	junk                           a list yields an error that is no *ObjectError
//	sleep 3s                       the server takes its time
//	cancel                         the reflector's context is cancelled
//	hang                           the server says nothing more
//	page rv=5 token=t1 remaining=2 ends a list
//	close                          ends a watch in order
//	fail WORD [SECONDS]            ends either with failure(WORD), Retry-After SECONDS
//
// Before the blocks may stand "options page=2 random=0.5 watch=1m", with the words stream (lists are streamed),
// check (whether the server was restored), first=RV, idle=1m and internal=1m, poll=20s, "server" (the source is
// a Server), "named" (objects have the metadata that NAME says: NAMESPACE/NAME:UID=LABEL), and "cancel 5s" for
// a context that is cancelled at that second. # begins a comment.

// parse reads a script into p.
func (p *player) parse(script string) {
	p.opts.Backoff.Random = func() float64 { return 0 }
	head, times := -1, 1 // the block that is being read, and how often it is asked for
	repeat := func() {
		for range times - 1 {
			p.blocks = append(p.blocks, p.blocks[head])
		}
	}
	for line := range strings.Lines(script) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case line[0] == ' ' || line[0] == '\t':
			p.blocks[head].lines = append(p.blocks[head].lines, words)
		case words[0] == "options":
			p.option(words[1:])
		case words[0] == "cancel":
			time.AfterFunc(duration(p.t, words[1]), p.cancel)
		case words[0] == "list" || words[0] == "watch":
			repeat()
			head, times = len(p.blocks), 1
			p.blocks = append(p.blocks, block{verb: words[0]})
			if len(words) > 1 {
				times = number(p.t, strings.TrimPrefix(words[1], "x"))
			}
		default:
			p.t.Fatalf("script line %q", line)
		}
	}
	repeat()
}

func (p *player) option(words []string) {
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "page":
			p.opts.PageSize = int64(number(p.t, value))
		case "watch":
			p.opts.WatchTimeout = duration(p.t, value)
		case "stream":
			p.opts.DisableWatchList = false
		case "server":
			p.server = new(Breaker)
		case "poll":
			p.opts.PollInterval = duration(p.t, value)
		case "named":
			p.named = true
		case "check":
			p.opts.TrustVersions = false
		case "first":
			p.opts.FirstVersion = &value
		case "idle":
			p.opts.IdleTimeout = duration(p.t, value)
		case "random":
			f, err := strconv.ParseFloat(value, 64)
			if err != nil {
				p.t.Fatal(err)
			}
			p.opts.Backoff.Random = func() float64 { return f }
		default:
			p.t.Fatalf("script option %q", word)
		}
	}
}

// perform carries out a line that lists and watches have in common. It returns what to
// yield, if anything, or send = false and the error that ends the request.
func (p *player) perform(ctx context.Context, words []string) (ev Event[any], err error, send bool) {
	if len(words) == 3 && words[2] == "-" {
		words[2] = ""
	}
	switch words[0] {
	case "obj":
		return Event[any]{Type: Added, Object: p.object(words[1]), ResourceVersion: words[2]}, nil, true
	case "ADDED", "MODIFIED", "DELETED":
		types := map[string]EventType{"ADDED": Added, "MODIFIED": Modified, "DELETED": Deleted}
		return Event[any]{Type: types[words[0]], Object: p.object(words[1]), ResourceVersion: words[2]}, nil, true
	case "END":
		if words[1] == "-" {
			words[1] = ""
		}
		return Event[any]{Type: Bookmark, InitialEventsEnd: true, ResourceVersion: words[1]}, nil, true
	case "BOOKMARK":
		return Event[any]{Type: Bookmark, ResourceVersion: words[1]}, nil, true
	case "bad", "bad-delete", "bad-bookmark":
		bad := &ObjectError{Resource: "pods", Key: words[1], ResourceVersion: words[2], Err: errors.New("garbage")}
		if bad.Key == "-" {
			bad.Key = ""
		}
		if words[0] == "bad-delete" {
			bad.Type = Deleted
		}
		if words[0] == "bad-bookmark" {
			bad.Type = Bookmark
		}
		return ev, bad, true
	case "junk":
		return ev, errors.New("junk"), true
	case "sleep":
		select {
		case <-time.After(duration(p.t, words[1])):
			return ev, nil, true
		case <-ctx.Done():
			return ev, ctx.Err(), false
		}
	case "cancel":
		p.log("  cancelled")
		p.cancel()
		return ev, nil, true
	case "hang":
		<-ctx.Done()
		return ev, ctx.Err(), false
	case "fail":
		seconds := 0
		if len(words) > 2 {
			seconds = number(p.t, words[2])
		}
		return ev, failure(words[1], seconds), false
	}
	p.t.Errorf("script line %q", words)
	return ev, errors.New("bad script"), false
}

// object is the object that a script calls by name.
func (p *player) object(name string) any {
	if !p.named {
		return name
	}
	name, label, labelled := strings.Cut(name, "=")
	key, uid, _ := strings.Cut(name, ":")
	object := new(metav1.PartialObjectMetadata)
	var ok bool
	if object.Namespace, object.Name, ok = strings.Cut(key, "/"); !ok {
		object.Namespace, object.Name = "", key
	}
	object.UID = types.UID(uid)
	if labelled {
		object.Labels = map[string]string{"": label}
	}
	return object
}

func listMeta(t *testing.T, words []string) metav1.ListMeta {
	var page metav1.ListMeta
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "rv":
			page.ResourceVersion = value
		case "token":
			page.Continue = value
		case "remaining":
			n := int64(number(t, value))
			page.RemainingItemCount = &n
		default:
			t.Errorf("script word %q", word)
		}
	}
	return page
}

func number(t *testing.T, s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func duration(t *testing.T, s string) time.Duration {
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
