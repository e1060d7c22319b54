package fake

import (
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// writeOptions checks what a create or an update was asked to do. kind names the options
// in a refusal.
func writeOptions(kind string, dryRun []string, manager, fieldValidation string) (write, error) {
	// The options of creates and updates have the same members and the same rules.
	errs := metavalidation.ValidateUpdateOptions(&metav1.UpdateOptions{DryRun: dryRun, FieldManager: manager, FieldValidation: fieldValidation})
	return write{dryRun: isDryRun(dryRun), manager: manager, named: manager != "", request: true}, invalidOptions(kind, errs)
}

func patchOptions(pt types.PatchType, opts metav1.PatchOptions) (write, error) {
	errs := metavalidation.ValidatePatchOptions(&opts, pt)
	return write{dryRun: isDryRun(opts.DryRun), manager: opts.FieldManager, request: true}, invalidOptions("PatchOptions", errs)
}

func invalidOptions(kind string, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: kind}, "", errs)
}

func isDryRun(values []string) bool { return slices.Contains(values, metav1.DryRunAll) }
