package fake

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	optionsvalidation "k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// checkOptions applies the API server's own validation of ListOptions, and returns the
// resourceVersion that they state, too; zero if they state none.
func (s *Server) checkOptions(opts metav1.ListOptions, watch bool) (in internalversion.ListOptions, rv uint64, err error) {
	opts.Watch = watch
	// The selectors are parsed elsewhere, and with them this conversion could fail.
	opts.LabelSelector, opts.FieldSelector = "", ""
	s.lacks.ignore(&opts)
	if err := internalversion.Convert_v1_ListOptions_To_internalversion_ListOptions(&opts, &in, nil); err != nil {
		return in, 0, apierrors.NewBadRequest(err.Error())
	}
	internalversion.SetListOptionsDefaults(&in, !s.lacks.watchList)
	if err := invalidOptions("ListOptions", optionsvalidation.ValidateListOptions(&in, !s.lacks.watchList)); err != nil {
		return in, 0, err
	}
	rv, err = parseRV(in.ResourceVersion)
	return in, rv, err
}

// ignore clears the options that a server without the feature ignores.
func (f features) ignore(opts *metav1.ListOptions) {
	if f.bookmarks {
		opts.AllowWatchBookmarks = false
	}
	if f.paging {
		opts.Limit, opts.Continue = 0, ""
	}
}

// write holds the properties of a write request apart from its object.
type write struct {
	dryRun  bool              // it is checked and answered like any other, but not stored
	manager string            // the writer, as far as it is known
	named   bool              // the request itself names the manager
	applies bool              // it is an apply, which keeps managedFields by itself
	upsert  bool              // it is an update or an apply, and there is no object
	strict  bool              // a patch must not have members that are unknown or twice
	twice   error             // the refusal of a strict apply that has a member twice
	paced   bool              // a deletion may take the time that it takes in an API server
	force   bool              // an apply takes over the fields of other owners
	whole   bool              // it changes all parts of an object, and not its generation
	lenient bool              // faults of a patch's members are no errors, and the client gets warnings
	warn    func(text string) // adds a warning to the answer; nil for none
	// request is the context of a request by the code under test, nil for a write of the test
	// itself.
	request     context.Context
	subresource string          // empty for the object itself
	sent        []byte          // the body of such a request
	patch       types.PatchType // of sent, empty for a whole object
}

func createOptions(ctx context.Context, opts metav1.CreateOptions) (write, error) {
	return writeOptions(ctx, "CreateOptions", metav1.UpdateOptions(opts))
}

func updateOptions(ctx context.Context, opts metav1.UpdateOptions) (write, error) {
	return writeOptions(ctx, "UpdateOptions", opts)
}

// writeOptions checks the options of a create or an update, which have the same members and the
// same rules. kind names them in a refusal.
func writeOptions(ctx context.Context, kind string, opts metav1.UpdateOptions) (write, error) {
	w := write{request: ctx, dryRun: isDryRun(opts.DryRun), manager: opts.FieldManager, named: opts.FieldManager != ""}
	return w, invalidOptions(kind, metavalidation.ValidateUpdateOptions(&opts))
}

func patchOptions(ctx context.Context, kind types.PatchType, opts metav1.PatchOptions) (write, error) {
	w := write{request: ctx, dryRun: isDryRun(opts.DryRun), manager: opts.FieldManager, force: opts.Force != nil && *opts.Force,
		strict: opts.FieldValidation == metav1.FieldValidationStrict}
	return w, invalidOptions("PatchOptions", metavalidation.ValidatePatchOptions(&opts, kind))
}

func invalidOptions(kind string, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: kind}, "", errs)
}

func isDryRun(values []string) bool { return slices.Contains(values, metav1.DryRunAll) }

func checkDeleteOptions(opts *metav1.DeleteOptions) error {
	return invalidOptions("DeleteOptions", metavalidation.ValidateDeleteOptions(opts))
}

// status reports whether the write is for the status subresource, and changes nothing else.
func (w write) status() bool { return w.subresource == statusField }

// view reports whether the write is for another subresource, whose hook says what changes.
func (w write) view() bool { return w.subresource != "" && !w.status() }

// mayContinue reports whether somebody still waits for the write.
func (w write) mayContinue() bool { return w.request == nil || w.request.Err() == nil }
