// Package logs writes the messages of the module's parts to a slog.Logger: errors at level
// Warn with their attributes, and rare events at level Debug.
//
// The message of an error's record says what happened. It is the attribute "message" of the
// error's LogValue, so that it is the same for all errors of a kind.
package logs

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"slices"
)

// Message is the key of the attribute that says what happened, without resource, key or cause.
const Message = "message"

// Log is the log of one part of the module, made by New. Its copies are the same log.
type Log struct {
	// To receives the messages; nil stands for slog.Default at the time of writing.
	To *slog.Logger
	// Part begins each message, such as "informer".
	Part string
	// Resource is the collection's name; empty if there is none.
	Resource string

	limit *limit
}

// New returns a log. Of the errors that repeat it writes one record a minute: see limit.
func New(to *slog.Logger, part, resource string) Log {
	return Log{To: to, Part: part, Resource: resource, limit: &limit{topics: map[topic]*record{}}}
}

// Debug logs an event. If the level is off, it only costs the check of the level. A panic of
// the logger is contained.
func (l Log) Debug(what string, attrs ...slog.Attr) {
	defer func() { _ = recover() }()
	to, ctx := l.logger(), context.Background()
	if to.Enabled(ctx, slog.LevelDebug) {
		to.LogAttrs(ctx, slog.LevelDebug, l.Part+": "+what, l.complete(attrs)...)
	}
}

// Error writes err at level Warn, with its attributes. If the error has no message of its own, the
// message is "something failed".
func (l Log) Error(err error) { l.warn("something failed", err, Attrs(err)) }

// KeyError is Error for a failed function that handles one key. what is the message if the error
// has none of its own. more come last.
func (l Log) KeyError(key, what string, err error, more ...slog.Attr) {
	l.warn(what, err, append(slices.Insert(Attrs(err), 0, slog.String("key", key)), more...))
}

// warn writes a record at level Warn, if the limit allows it. An attribute with the message becomes
// the message.
func (l Log) warn(message string, err error, attrs []slog.Attr) {
	about := topic{kind: reflect.TypeOf(err)}
	attrs = slices.DeleteFunc(attrs, func(a slog.Attr) bool {
		switch a.Key {
		case Message:
			message = a.Value.String()
		case "key":
			about.key = a.Value.String()
		case "resource":
			about.resource = a.Value.String()
		}
		return a.Key == Message
	})
	about.message = message
	omitted, due := l.limit.due(about)
	if !due {
		return
	}
	if omitted > 0 {
		attrs = append(attrs, slog.Uint64("omitted", omitted))
	}
	l.logger().LogAttrs(context.Background(), slog.LevelWarn, l.Part+": "+message, l.complete(attrs)...)
}

func (l Log) logger() *slog.Logger {
	if l.To == nil {
		return slog.Default()
	}
	return l.To
}

// complete puts the resource in front, unless attrs contain it.
func (l Log) complete(attrs []slog.Attr) []slog.Attr {
	if l.Resource == "" || slices.ContainsFunc(attrs, func(a slog.Attr) bool { return a.Key == "resource" }) {
		return attrs
	}
	return slices.Insert(attrs, 0, slog.String("resource", l.Resource))
}

// Attrs returns the attributes of the first slog.LogValuer in err's chain. It adds err itself
// as "error", unless err is that first one.
func Attrs(err error) []slog.Attr {
	var known slog.LogValuer
	if !errors.As(err, &known) {
		return []slog.Attr{slog.Any("error", err)}
	}
	value := slog.AnyValue(known).Resolve() // which contains panics
	if value.Kind() != slog.KindGroup {
		return []slog.Attr{slog.Any("error", err)}
	}
	attrs := slices.Clone(value.Group())
	if _, first := err.(slog.LogValuer); first {
		return attrs
	}
	attrs = slices.DeleteFunc(attrs, func(a slog.Attr) bool { return a.Key == "error" })
	return append(attrs, slog.String("error", err.Error()))
}
