// Package logs writes the messages of the module's parts to a slog.Logger: errors at level
// Warn with their attributes, and rare events at level Debug.
package logs

import (
	"context"
	"errors"
	"log/slog"
	"slices"
)

// Log is the log of one part of the module. It is an immutable value.
type Log struct {
	// To receives the messages; nil stands for slog.Default at the time of writing.
	To *slog.Logger
	// Part begins each message, such as "informer".
	Part string
	// Resource is the collection's name; empty if there is none.
	Resource string
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

// Error writes err at level Warn, with its attributes.
func (l Log) Error(err error) {
	l.logger().LogAttrs(context.Background(), slog.LevelWarn, l.Part+": error", l.complete(Attrs(err))...)
}

// KeyError is Error with the key of the failed object in front.
func (l Log) KeyError(key string, err error) {
	attrs := slices.Insert(Attrs(err), 0, slog.String("key", key))
	l.logger().LogAttrs(context.Background(), slog.LevelWarn, l.Part+": error", l.complete(attrs)...)
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
