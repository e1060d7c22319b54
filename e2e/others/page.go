package others

import (
	"fmt"
	"iter"
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

A Ginkgo spec counts as a test. The tests of ` + "`tools/cache`" + ` run for every change, the others every night.
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
	var all File
	for _, f := range result.Files {
		all.Passed, all.Differs = append(all.Passed, f.Passed...), append(all.Differs, f.Differs...)
		all.Private, all.Apart = append(all.Private, f.Private...), append(all.Apart, f.Apart...)
	}
	fmt.Fprintf(&out, "\n## %s\n", title)
	paragraph(&out, fmt.Sprintf("Passed: %d; differs: %d; private: %d; apart: %d.", len(all.Passed), len(all.Differs), len(all.Private), len(all.Apart)))
	for reason, tests := range byReason(all.Differs, suite.Differs) {
		paragraph(&out, "Differs: "+tests+". "+reason)
	}
	for reason, tests := range byReason(all.Private, suite.Private) {
		paragraph(&out, "Private, because it "+reason+": "+tests+".")
	}
	return out.String()
}

// byReason yields each reason once, with its tests, in the order of the tests.
func byReason(tests []string, reasons map[string]string) iter.Seq2[string, string] {
	return func(yield func(reason, tests string) bool) {
		for i, test := range tests {
			reason := reasons[test]
			same := func(other string) bool { return reasons[other] == reason }
			if slices.IndexFunc(tests, same) < i {
				continue // it was yielded with an earlier test
			}
			others := slices.DeleteFunc(slices.Clone(tests), func(other string) bool { return !same(other) })
			if !yield(reason, "**"+strings.Join(others, "**, **")+"**") {
				return
			}
		}
	}
}

// paragraph writes text in lines.
func paragraph(out *strings.Builder, text string) {
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
