package fakecrd

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// claims are the names that other definitions of a group have.
type claims struct {
	resources, kinds []string
}

func claimsOf(d *definition, all []*definition) (c claims) {
	for _, other := range all {
		if other.Spec.Group != d.Spec.Group || other.Name == d.Name {
			continue
		}
		names := other.Status.AcceptedNames
		c.resources = append(append(c.resources, names.Plural, names.Singular), names.ShortNames...)
		c.kinds = append(c.kinds, names.Kind, names.ListKind)
	}
	return c
}

// takeNames gives d the names that it asks for, as far as no other definition of its group has
// them, and returns the last conflict; an empty reason means that there is none.
func takeNames(d *definition, all []*definition) (reason, message string) {
	taken, want, have := claimsOf(d, all), d.Spec.Names, &d.Status.AcceptedNames
	take := func(wanted string, now *string, in []string, conflict string) {
		if err := free(wanted, *now, in); err != nil {
			reason, message = conflict, err.Error()
			return
		}
		*now = wanted
	}
	take(want.Plural, &have.Plural, taken.resources, "PluralConflict")
	take(want.Singular, &have.Singular, taken.resources, "SingularConflict")
	var errs []error
	for _, short := range want.ShortNames {
		if !slices.Contains(have.ShortNames, short) {
			errs = append(errs, free(short, "", taken.resources))
		}
	}
	if err := errors.Join(errs...); err != nil {
		reason, message = "ShortNamesConflict", err.Error()
	} else {
		have.ShortNames = want.ShortNames
	}
	take(want.Kind, &have.Kind, taken.kinds, "KindConflict")
	take(want.ListKind, &have.ListKind, taken.kinds, "ListKindConflict")
	have.Categories = want.Categories
	return reason, message
}

func free(wanted, have string, taken []string) error {
	if wanted != have && slices.Contains(taken, wanted) {
		return fmt.Errorf("%q is already in use", wanted)
	}
	return nil
}

// setNamesAccepted says whether d has the names that it asks for. An empty reason means that it
// has.
func setNamesAccepted(d *definition, reason, message string) {
	if reason == "" {
		setCondition(d, apiextensionsv1.NamesAccepted, apiextensionsv1.ConditionTrue, "NoConflicts", "no conflicts found")
		return
	}
	setCondition(d, apiextensionsv1.NamesAccepted, apiextensionsv1.ConditionFalse, reason, message)
}

// setEstablished says whether d is served. Once established, it stays so.
func setEstablished(d *definition, now bool) {
	switch {
	case apihelpers.IsCRDConditionTrue(d, apiextensionsv1.Established):
	case now:
		setCondition(d, apiextensionsv1.Established, apiextensionsv1.ConditionTrue, "InitialNamesAccepted", "the initial names have been accepted")
	default:
		setCondition(d, apiextensionsv1.Established, apiextensionsv1.ConditionFalse, "NotAccepted", "not all names are accepted")
	}
}

// terminate says how far the deletion of d's objects is.
func terminate(d *definition, left int, reason string) {
	switch {
	case left > 0:
		setCondition(d, apiextensionsv1.Terminating, apiextensionsv1.ConditionTrue, "InstanceDeletionInProgress", "CustomResource deletion is in progress")
	case reason == "NeverEstablished":
		setCondition(d, apiextensionsv1.Terminating, apiextensionsv1.ConditionFalse, reason, "resource was never established")
	default:
		setCondition(d, apiextensionsv1.Terminating, apiextensionsv1.ConditionFalse, reason, "removed all instances")
	}
}

func setCondition(d *definition, kind apiextensionsv1.CustomResourceDefinitionConditionType, status apiextensionsv1.ConditionStatus, reason, message string) {
	next := apiextensionsv1.CustomResourceDefinitionCondition{Type: kind, Status: status, Reason: reason, Message: message}
	if now := apihelpers.FindCRDCondition(d, kind); now == nil || !apihelpers.IsCRDConditionEquivalent(now, &next) {
		apihelpers.SetCRDCondition(d, next)
	}
}
