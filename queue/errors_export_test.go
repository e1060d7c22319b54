package queue

import (
	"github.com/kinform/kinform/internal/usercode"
	"github.com/kinform/kinform/internal/verdict"
)

// The errors, and what they mean, for tests.
type (
	PanicError    = usercode.PanicError
	AgainError    = verdict.AgainError
	TerminalError = verdict.TerminalError
	Outcome       = verdict.Outcome
)

const (
	Succeeded  = verdict.Succeeded
	AskedAgain = verdict.AskedAgain
	GaveUp     = verdict.GaveUp
	CutShort   = verdict.CutShort
	Failed     = verdict.Failed
)

var Judge = verdict.Judge
