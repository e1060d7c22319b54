// Package logr shows how a program that logs by logr, for example to klog or zap, receives the
// records that Kinform logs by slog.
package logr
