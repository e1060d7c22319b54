package website_test

import (
	"testing"

	"github.com/kinform/kinform/examples/internal/stage"
)

// TestLines holds the controller to 60 lines of code: without imports, comments and blank lines.
func TestLines(t *testing.T) { stage.AtMostLines(t, "controller.go", 60) }
