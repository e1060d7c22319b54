package conformance

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// step is one request of a script and the answer that is expected.
type step struct {
	verb   string // a method, or one of the words of exchange.go
	header string // the media type in brackets after the verb
	target string
	body   string
	want   string
}

// text is the step as it stands in a file, without the answer.
func (s step) text() string {
	words := s.verb
	if s.header != "" {
		words += "[" + s.header + "]"
	}
	if s.target != "" {
		words += " " + s.target
	}
	if s.body != "" {
		words += " " + s.body
	}
	return words
}

// script is a file: comments and steps in order. A comment is kept as a step without verb.
type script struct {
	name  string
	steps []step
}

// readScript parses a file. A request is a line; its answer is the line after it, which begins with
// an equals sign.
func readScript(t *testing.T, file, name string) script {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := script{name: name}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		switch answer, is := strings.CutPrefix(line, "= "); {
		case is && len(s.steps) > 0:
			s.steps[len(s.steps)-1].want = answer
		case line == "" || strings.HasPrefix(line, "#"):
			s.steps = append(s.steps, step{body: line})
		default:
			s.steps = append(s.steps, parseStep(line))
		}
	}
	return s
}

func parseStep(line string) step {
	verb, rest, _ := strings.Cut(line, " ")
	target, body, _ := strings.Cut(rest, " ")
	s := step{verb: verb, target: target, body: body}
	if before, after, ok := strings.Cut(verb, "["); ok {
		s.verb, s.header = before, strings.TrimSuffix(after, "]")
	}
	return s
}

// write stores the script with new answers.
func (s script) write(t *testing.T, file string) {
	t.Helper()
	var b strings.Builder
	for _, st := range s.steps {
		if st.verb == "" {
			fmt.Fprintln(&b, st.body)
			continue
		}
		fmt.Fprintf(&b, "%s\n= %s\n", st.text(), st.want)
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}
