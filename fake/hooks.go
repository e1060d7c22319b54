package fake

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Hooks are the functions of one resource, such as its defaults and checks. Each may be nil. They
// run in the goroutine of the request, without a lock, and concurrently. If another write comes
// between, the server calls them again for the new state. A hook may change only the objects that
// its comment says it may; these belong to the request, and all others are read-only. A panic of a
// hook is a 500 over HTTP.
type Hooks[T metav1.Object] struct {
	// Prune removes what objects of the kind cannot hold, and returns the paths of what it
	// removed, such as "spec.sizes[0].colour". Writes ask it before anything else. A request with
	// fieldValidation=Strict is refused if anything was removed. An error refuses the write, with
	// 400 BadRequest unless it is a Status.
	Prune func(obj T) (removed []string, err error)
	// Default completes an object. It gets the state that is to be stored: the server has set the
	// metadata that a client cannot write, and has dropped the status of a create.
	Default func(obj T)
	// Validate returns the faults of a new state: old is nil in a create. They become the causes of
	// a 422 Invalid, beside the faults of the metadata.
	Validate func(obj, old T) field.ErrorList
	// ValidateStatus is Validate for writes of the status subresource; nil means Validate.
	ValidateStatus func(obj, old T) field.ErrorList
	// Warn returns warnings for the client of a request over HTTP about a new state that is valid:
	// old is nil in a create. Writes of subresources do not ask it.
	Warn func(obj, old T) []string
	// Convert turns an object of another version into one of this version. obj has the Go type of
	// its version, and is Convert's own: the result may share its parts. Between two versions that
	// are not the stored one, the server converts to that first. The result has the same metadata:
	// another name, namespace or uid is an error. The server sets its kind and apiVersion. Nil
	// means that only the apiVersion differs. [Define] refuses that for versions of different Go
	// types. Reads call Convert as well.
	Convert func(obj metav1.Object) (T, error)
	// Deleting returns finalizers to add to an object whose deletion is asked for. Without any
	// finalizer an object goes at once.
	Deleting func(obj T) (finalizers []string)
	// Act makes the kind one of orders, such as the Bindings of the core group: a create over HTTP
	// carries obj out and stores nothing. The answer is a Status that says Success, or the error. A
	// dry run must be refused like another request, and change nothing. Act runs without a lock,
	// concurrently, and can write to the server. Use it with [Rules].Verbs of "create" alone.
	Act func(ctx context.Context, obj T, dryRun bool) error
	// Subresources are the subresources other than status, by name. See [View], [Action] and [Text].
	Subresources map[string]SubresourceHook[T]
	// Fields are the fields by which objects can be selected; see [AddField].
	Fields map[string]func(obj T) string
	// Printer makes the tables of the resource.
	Printer Printer
	// Stored is called after a write or a [Server.Restore], before it returns, and can read and
	// write itself. It gets no arguments, because another write may have followed: it must look at
	// the present state. It is also called for the writes that it makes itself.
	Stored func()
}

// hooks are [Hooks] without the type: a table serves objects of any type, so that it is compiled
// once.
type hooks struct {
	prune                    func(obj metav1.Object) (removed []string, err error)
	setDefaults              func(obj metav1.Object)
	validate, validateStatus func(obj, old metav1.Object) field.ErrorList
	warn                     func(obj, old metav1.Object) []string
	convert                  func(obj metav1.Object) (metav1.Object, error)
	deleting                 func(obj metav1.Object) (finalizers []string)
	act                      func(ctx context.Context, obj metav1.Object, dryRun bool) error
	subresources             map[string]subresourceHook
	fields                   map[string]func(obj metav1.Object) string
	printer                  Printer
	stored                   func()
}

// erase returns hooks that expect objects of T.
func erase[T metav1.Object](h Hooks[T]) hooks {
	out := hooks{printer: h.Printer, stored: h.Stored}
	if h.Prune != nil {
		out.prune = func(obj metav1.Object) ([]string, error) { return h.Prune(typed[T](obj)) }
	}
	if h.Default != nil {
		out.setDefaults = func(obj metav1.Object) { h.Default(typed[T](obj)) }
	}
	out.validate, out.validateStatus = eraseValidate(h.Validate), eraseValidate(h.ValidateStatus)
	if h.Warn != nil {
		out.warn = func(obj, old metav1.Object) []string { return h.Warn(typed[T](obj), typed[T](old)) }
	}
	if h.Convert != nil {
		out.convert = func(obj metav1.Object) (metav1.Object, error) { return h.Convert(obj) }
	}
	if h.Deleting != nil {
		out.deleting = func(obj metav1.Object) []string { return h.Deleting(typed[T](obj)) }
	}
	if h.Act != nil {
		out.act = func(ctx context.Context, obj metav1.Object, dryRun bool) error {
			return h.Act(ctx, typed[T](obj), dryRun)
		}
	}
	for name, hook := range h.Subresources {
		if out.subresources == nil {
			out.subresources = map[string]subresourceHook{}
		}
		out.subresources[name] = hook.of
	}
	for name, value := range h.Fields {
		if out.fields == nil {
			out.fields = map[string]func(metav1.Object) string{}
		}
		out.fields[name] = eraseField(value)
	}
	return out
}

func eraseValidate[T metav1.Object](validate func(obj, old T) field.ErrorList) func(obj, old metav1.Object) field.ErrorList {
	if validate == nil {
		return nil
	}
	return func(obj, old metav1.Object) field.ErrorList { return validate(typed[T](obj), typed[T](old)) }
}

func eraseField[T metav1.Object](value func(obj T) string) func(metav1.Object) string {
	return func(obj metav1.Object) string { return value(typed[T](obj)) }
}
