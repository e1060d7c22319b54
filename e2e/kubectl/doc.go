//go:build e2e

// Package kubectl runs the real kubectl against package fake's handler. Its test needs
// KINFORM_E2E=1, as it compiles kubectl once.
package kubectl
