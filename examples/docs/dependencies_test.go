package docs_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	dependencyLine = regexp.MustCompile("(?m)^\\| `(.*)` \\| (.*) \\| .* \\|$")
	directRequire  = regexp.MustCompile(`(?m)^(?:require |\t)(\S+) v\S+$`) // others end with // indirect
	toolPackage    = regexp.MustCompile(`(?m)^(?:tool |\t)(\S+)$`)
)

// TestDependencies holds the table of docs/dependencies.md to the direct requirements and the tools in go.mod of the
// root module.
func TestDependencies(t *testing.T) {
	text, err := os.ReadFile("../../go.mod")
	check(t, err)
	mod := string(text)
	var required, listed []string
	for _, found := range directRequire.FindAllStringSubmatch(mod, -1) {
		required = append(required, found[1])
	}
	tools := toolPackage.FindAllStringSubmatch(mod, -1)
	if len(required) < 5 || len(tools) == 0 {
		t.Fatalf("%d requirements and %d tools were found", len(required), len(tools))
	}
	unlisted := len(tools)
	for _, row := range dependencyLine.FindAllStringSubmatch(pages(t)["dependencies.md"], -1) {
		module, usedBy := row[1], row[2]
		if usedBy != "tool only" {
			listed = append(listed, module)
			continue
		}
		for _, tool := range tools {
			if strings.HasPrefix(tool[1], module+"/") {
				unlisted--
			}
		}
	}
	slices.Sort(required)
	slices.Sort(listed)
	if !slices.Equal(listed, required) {
		t.Errorf("the page lists %q, go.mod requires %q", listed, required)
	}
	if unlisted != 0 {
		t.Errorf("the page does not list each module of %q once", tools)
	}
}
