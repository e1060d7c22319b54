package others

import (
	"fmt"
	"slices"
	"strings"
)

const head = `# The tests of others

` + "`e2e/others`" + ` generates this page, and its test fails if the page is outdated. The page shows which tests of client-go and
controller-runtime pass when their constructors return Kinform's counterparts from [with/clientgo](../with/clientgo/doc.go) and
[with/controllerruntime](../with/controllerruntime/doc.go). The tests come from the module cache, and are unchanged except for three
helpers that read private fields. The tests of controller-runtime's cache use a real kube-apiserver.

- **passed**: the test ran on Kinform and passed.
- **differs**: the test does not pass; the reason is below.
- **private**: the test reads or sets private parts of the original library, so it does not apply.
- **apart**: the test calls no constructor that has a counterpart in Kinform.

A Ginkgo spec counts as a test. Specs that passed are not listed by name.

The tests of ` + "`tools/cache`" + ` run for every change, the others every night.
`

// Page returns the text of docs/others-tests.md. results are in the order of suites.
func Page(suites []Suite, results []Result) string {
	var out strings.Builder
	out.WriteString(head)
	for i, suite := range suites {
		out.WriteString(Section(suite, results[i]))
	}
	return out.String()
}

// Section returns the part of the page that is about one suite.
func Section(suite Suite, result Result) string {
	var out strings.Builder
	title := suite.Package
	if suite.With != "" {
		title += " on " + suite.With
	}
	fmt.Fprintf(&out, "\n## %s\n\n| file | passed | differs | private | apart |\n| --- | --- | --- | --- | --- |\n", title)
	var all File
	for _, f := range result.Files {
		fmt.Fprintf(&out, "| %s | %d | %d | %d | %d |\n", f.Name, len(f.Passed), len(f.Differs), len(f.Private), len(f.Apart))
		all.Passed, all.Differs = append(all.Passed, f.Passed...), append(all.Differs, f.Differs...)
		all.Private, all.Apart = append(all.Private, f.Private...), append(all.Apart, f.Apart...)
	}
	fmt.Fprintf(&out, "| all | %d | %d | %d | %d |\n", len(all.Passed), len(all.Differs), len(all.Private), len(all.Apart))
	named := slices.DeleteFunc(all.Passed, isSpec)
	list(&out, "Passed: "+strings.Join(named, ", ")+".", len(named))
	for _, test := range all.Differs {
		list(&out, "**"+test+"** differs. "+suite.Differs[test], 1)
	}
	for _, test := range all.Private {
		list(&out, "**"+test+"** is private: it "+suite.Private[test]+".", 1)
	}
	return out.String()
}

// list writes a paragraph if there is something to say.
func list(out *strings.Builder, text string, n int) {
	if n == 0 {
		return
	}
	out.WriteByte('\n')
	width := 0
	for word := range strings.FieldsSeq(text) {
		switch {
		case width == 0:
		case width+1+len(word) > 140:
			out.WriteByte('\n')
			width = 0
		default:
			out.WriteByte(' ')
			width++
		}
		out.WriteString(word)
		width += len(word)
	}
	out.WriteByte('\n')
}
