// Package logr shows how a program that logs by logr, as by klog or zap, hears of what
// Kinform logs by slog.
package logr
