package informer_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/reflector"
)

// logbook collects the records of a logger, in JSON.
type logbook struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (b *logbook) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.out.Write(line)
}

func (b *logbook) logger(level slog.Level) *slog.Logger {
	return slog.New(slog.NewJSONHandler(b, &slog.HandlerOptions{Level: level}))
}

// records returns what was written, each record with its attributes.
func (b *logbook) records(t testing.TB) (all []map[string]any) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for dec := json.NewDecoder(bytes.NewReader(b.out.Bytes())); ; {
		var record map[string]any
		if err := dec.Decode(&record); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, record)
	}
}

// find returns the first record whose attributes include all of want's, nil for none.
func (b *logbook) find(t testing.TB, want map[string]any) map[string]any {
	t.Helper()
	for _, record := range b.records(t) {
		all := true
		for key, value := range want {
			all = all && fmt.Sprint(record[key]) == fmt.Sprint(value)
		}
		if all {
			return record
		}
	}
	return nil
}

// TestErrorsAreLogged: without OnError, at level Warn, with resource, key, resourceVersion
// and so on as attributes.
func TestErrorsAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var book logbook
		src := &live[*widget]{object: at("w", 10), events: make(chan reflector.Event[*widget])}
		inf := newInformer(t, src, informer.Options[*widget]{
			Logger:    book.logger(slog.LevelInfo),
			Mutations: informer.MutationsAll,
			Reflector: reflector.Tuning{IdleTimeout: -1, DisableWatchList: true},
		})
		// No history is checked: the source goes back in time. There is one handler, because what
		// it writes to would race with others.
		must1(inf.AddHandler(informer.HandlerFunc[key, *widget](func(ev informer.Event[key, *widget]) {
			switch ev.Object.ResourceVersion {
			case "12":
				ev.Object.Spec.Size = 99
			case "13":
				panic("unlucky")
			}
		}), handlerOptions{Name: "clumsy"}))(t)
		ended := make(chan error, 1)
		go func() { ended <- inf.Run(t.Context()) }()
		synctest.Wait()
		src.send(reflector.Modified, 11, newWidget("a", "", "n"))
		if err := inf.RecordWrite(at("mine", 50), ""); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		src.send(reflector.Modified, 12, at("w", 12))
		src.send(reflector.Modified, 9, at("w", 9)) // back in time: the watch ends
		time.Sleep(3 * time.Minute)                 // the write is given up
		synctest.Wait()
		src.send(reflector.Modified, 13, at("w", 13))
		if err := <-ended; err == nil {
			t.Error("Run returned nil after a panic")
		}
		resource := src.Resource()
		for _, want := range []map[string]any{
			{"msg": "informer: object is skipped", "resource": resource, "resourceVersion": "11", "event": "MODIFIED"},
			{"msg": "informer: watch failed", "resource": resource, "verb": "watch", "resourceVersion": "10", "error": "watch event is older than one before it"},
			{"msg": "informer: recorded write is lost", "resource": resource, "key": "a/mine", "resourceVersion": "50"},
			{"msg": "informer: shared object was written to", "resource": resource, "key": "a/w", "handlers": "[clumsy]"},
			{"msg": "informer: handler panicked", "resource": resource, "key": "a/w", "name": "clumsy", "where": "handler", "error": "panic: unlucky"},
		} {
			want["level"] = "WARN"
			if book.find(t, want) == nil {
				t.Errorf("no record of %v", want)
			}
		}
		if record := book.find(t, map[string]any{"name": "clumsy"}); record != nil && !strings.Contains(fmt.Sprint(record["stack"]), "TestErrorsAreLogged") {
			t.Error("the stack is not that of the handler")
		}
		if t.Failed() {
			t.Logf("%s", book.out.String())
		}
	})
}

// TestLogOfALife: without failures there are no records at the default level. At level Debug
// there are records of rare events only. Errors passed to OnError are not logged.
func TestLogOfALife(t *testing.T) {
	for _, level := range []slog.Level{slog.LevelInfo, slog.LevelDebug} {
		for _, events := range []int{0, 100} {
			t.Run(fmt.Sprint(level, events), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var book logbook
					var heard errorsOf
					server := newServer(t)
					must1(fake.Create(server, newWidget("a", "first", "n")))(t)
					inf := newInformer(t, source(t, server), informer.Options[*widget]{Logger: book.logger(level), OnError: heard.add, Reflector: reflector.Tuning{TrustVersions: true}})
					h := newHistory(t, inf)
					reg := must1(inf.AddHandler(h, handlerOptions{Name: "h"}))(t)
					stop := run(t, inf)
					for n := range events {
						must1(fake.Create(server, newWidget("a", fmt.Sprint("w", n), "n")))(t)
					}
					synctest.Wait()
					h.check(t, "h")
					must1(0, server.Compact(server.ResourceVersion()))(t)
					must1(0, server.Inject(faults.Fault{Verb: faults.VerbWatch, Times: 1, Status: faults.Refusal(410, "Expired", 0)}))(t)
					server.DropWatches()
					time.Sleep(10 * time.Second)
					synctest.Wait()
					reg.Remove()
					stop()
					var got []string
					for _, record := range book.records(t) {
						if record["resource"] != inf.Resource() {
							t.Errorf("a record without the resource: %v", record)
						}
						got = append(got, fmt.Sprint(record["msg"]))
					}
					want := ""
					if level == slog.LevelDebug {
						want = lifeInTheLog
						if book.find(t, map[string]any{"msg": "reflector: lists again", "reason": "expired"}) == nil {
							t.Error("the log does not say why it was listed again")
						}
					}
					if strings.Join(got, "\n") != want {
						t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
					}
				})
			})
		}
	}
}

const lifeInTheLog = `informer: handler is added
informer: runs
reflector: list begins
reflector: list is whole
informer: cache is filled
reflector: watch ends
reflector: watch begins
reflector: watch ends
reflector: lists again
reflector: list begins
reflector: list is whole
informer: handler is removed
informer: has stopped`
