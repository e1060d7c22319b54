package factory

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// sameLabels returns a text that is equal for label selectors that select the same objects:
// c,a in (b) becomes the same text as a=b,c. A selector that does not parse only equals
// itself.
func sameLabels(selector string) string {
	parsed, err := labels.Parse(selector)
	if err != nil {
		return "?" + selector
	}
	requirements, _ := parsed.Requirements()
	terms := make([]string, len(requirements))
	for n, r := range requirements {
		operator := r.Operator()
		switch operator {
		case selection.Equals, selection.DoubleEquals:
			operator = selection.In
		case selection.NotEquals:
			operator = selection.NotIn
		}
		values := slices.Compact(slices.Sorted(slices.Values(r.ValuesUnsorted())))
		terms[n] = fmt.Sprintf("%s %s %q", r.Key(), operator, values)
	}
	return inOrder(terms)
}

// sameFields is sameLabels for field selectors.
func sameFields(selector string) string {
	parsed, err := fields.ParseSelector(selector)
	if err != nil {
		return "?" + selector
	}
	requirements := parsed.Requirements()
	terms := make([]string, len(requirements))
	for n, r := range requirements {
		terms[n] = fmt.Sprintf("%q %s %q", r.Field, r.Operator, r.Value)
	}
	return inOrder(terms)
}

func inOrder(terms []string) string {
	slices.Sort(terms)
	return strings.Join(slices.Compact(terms), ",")
}
