// Package logs writes what the parts of the module have to say to a slog.Logger: errors at
// level Warn, with what they know as attributes, and what happens seldom at level Debug.
package logs

import (
	"context"
	"errors"
	"log/slog"
	"slices"
)

// Log is where one part of the module writes to. It is a value, and does not change.
type Log struct {
	// To is written to; nil stands for slog.Default at the time of writing.
	To *slog.Logger
	// Part begins each message, such as "informer".
	Part string
	// Resource is the collection's name; empty if there is none.
	Resource string
}

// Debug writes that something happened. It costs a look at the level where that is off. A
// logger that panics is no reason for anything to end.
func (l Log) Debug(what string, attrs ...slog.Attr) {
	defer func() { _ = recover() }()
	to, ctx := l.logger(), context.Background()
	if to.Enabled(ctx, slog.LevelDebug) {
		to.LogAttrs(ctx, slog.LevelDebug, l.Part+": "+what, l.complete(attrs)...)
	}
}

// Error writes err at level Warn, with the attributes that it has.
func (l Log) Error(err error) {
	l.logger().LogAttrs(context.Background(), slog.LevelWarn, l.Part+": error", l.complete(Attrs(err))...)
}

// KeyError is Error with the key of what failed in front.
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

// complete puts the resource in front, unless attrs have it.
func (l Log) complete(attrs []slog.Attr) []slog.Attr {
	if l.Resource == "" || slices.ContainsFunc(attrs, func(a slog.Attr) bool { return a.Key == "resource" }) {
		return attrs
	}
	return slices.Insert(attrs, 0, slog.String("resource", l.Resource))
}

// Attrs returns what the error in err's chain that is a slog.LogValuer has as attributes,
// and err itself as "error": all of it, unless the first in the chain says it by itself.
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
