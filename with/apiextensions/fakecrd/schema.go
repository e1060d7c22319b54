package fakecrd

import (
	"context"
	"fmt"
	"math"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
)

// objectSchema is the schema of one version. It never changes, and its methods can be called
// concurrently. They do in the API server's order what its handlers and strategies of custom
// resources do.
type objectSchema struct {
	kind          schema.GroupVersionKind
	structural    *structuralschema.Structural
	whole, status validation.SchemaValidator
	rules         *cel.Validator // nil without x-kubernetes-validations
	scale         *apiextensions.CustomResourceSubresourceScale
}

func newSchema(kind schema.GroupVersionKind, given *apiextensionsv1.CustomResourceValidation, scale *apiextensions.CustomResourceSubresourceScale) (*objectSchema, error) {
	if given == nil || given.OpenAPIV3Schema == nil {
		return nil, fmt.Errorf("%s has no schema", kind)
	}
	in := &apiextensions.CustomResourceValidation{}
	// The conversion keeps parts of its input.
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(given.DeepCopy(), in, nil); err != nil {
		return nil, err
	}
	s := &objectSchema{kind: kind, scale: scale}
	structural, err := structuralschema.NewStructural(in.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	s.structural = structural.DeepCopy() // which shares its defaults with in
	if err := defaulting.PruneDefaults(s.structural); err != nil {
		return nil, err
	}
	if s.whole, _, err = validation.NewSchemaValidator(in.OpenAPIV3Schema); err != nil {
		return nil, err
	}
	if part, ok := in.OpenAPIV3Schema.Properties["status"]; ok {
		if s.status, _, err = validation.NewSchemaValidator(&part); err != nil {
			return nil, err
		}
	}
	s.rules = cel.NewValidator(s.structural, true, celconfig.PerCallLimit)
	return s, nil
}

// prune removes the fields that the schema does not name, and the nulls that it does not allow. It
// also makes the metadata of embedded objects an ObjectMeta.
func (s *objectSchema) prune(o *object) ([]string, error) {
	meta, has := o.Object["metadata"] // which the server itself prunes
	removed := pruning.PruneWithOptions(o.Object, s.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	defaulting.PruneNonNullableNullsWithoutDefaults(o.Object, s.structural)
	err, more := objectmeta.CoerceWithOptions(nil, o.Object, s.structural, false, objectmeta.CoerceOptions{ReturnUnknownFieldPaths: true})
	if err != nil {
		return nil, err
	}
	if has {
		o.Object["metadata"] = meta
	}
	return append(removed, more...), nil
}

func (s *objectSchema) setDefaults(o *object) { defaulting.Default(o.Object, s.structural) }

func (s *objectSchema) validate(o, old *object) field.ErrorList {
	if old == nil {
		errs := validation.ValidateCustomResource(nil, o.Object, s.whole)
		errs = append(append(errs, s.scaleSpec(o)...), s.scaleStatus(o)...)
		errs = append(errs, objectmeta.Validate(context.Background(), nil, o.Object, s.structural, false)...)
		errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s.structural, o.Object)...)
		return s.withRules(errs, o.Object, nil)
	}
	both := common.NewCorrelatedObject(o.Object, old.Object, &model.Structural{Structural: s.structural})
	errs := validation.ValidateCustomResourceUpdate(nil, o.Object, old.Object, s.whole, validation.WithRatcheting(both))
	errs = append(append(errs, s.scaleSpec(o)...), s.scaleStatus(o)...)
	errs = append(errs, objectmeta.Validate(context.Background(), nil, o.Object, s.structural, false)...)
	return s.withRules(append(errs, s.lists(o, old)...), o.Object, old.Object, cel.WithRatcheting(both))
}

func (s *objectSchema) validateStatus(o, old *object) (errs field.ErrorList) {
	both := common.NewCorrelatedObject(o.Object, old.Object, &model.Structural{Structural: s.structural})
	if status, ok := o.Object["status"]; ok && s.status != nil {
		errs = validation.ValidateCustomResourceUpdate(field.NewPath("status"), status, old.Object["status"], s.status, validation.WithRatcheting(both.Key("status")))
	}
	errs = append(errs, s.scaleStatus(o)...)
	return s.withRules(append(errs, s.lists(o, old)...), o.Object, old.Object, cel.WithRatcheting(both))
}

// lists checks the lists that are sets or maps, unless the lists of old were wrong already.
func (s *objectSchema) lists(o, old *object) field.ErrorList {
	if len(listtype.ValidateListSetsAndMaps(nil, s.structural, old.Object)) > 0 {
		return nil
	}
	return listtype.ValidateListSetsAndMaps(nil, s.structural, o.Object)
}

// withRules adds the faults that the rules in CEL find. They can only look at an object of the
// right form. old is nil in a create.
func (s *objectSchema) withRules(errs field.ErrorList, o, old map[string]any, opts ...cel.Option) field.ErrorList {
	if s.rules == nil {
		return errs
	}
	for _, err := range errs {
		switch err.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return append(errs, field.Invalid(nil, nil, "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"))
		}
	}
	var was any // an interface without a map in it, which stands for no object
	if old != nil {
		was = old
	}
	found, _ := s.rules.Validate(context.Background(), nil, s.structural, o, was, celconfig.RuntimeCELCostBudget, opts...)
	return append(errs, found...)
}

func (s *objectSchema) scaleSpec(o *object) field.ErrorList {
	if s.scale == nil {
		return nil
	}
	return replicas(o, s.scale.SpecReplicasPath)
}

func (s *objectSchema) scaleStatus(o *object) field.ErrorList {
	if s.scale == nil {
		return nil
	}
	errs := replicas(o, s.scale.StatusReplicasPath)
	if at := s.scale.LabelSelectorPath; at != nil {
		if text, _, err := unstructured.NestedString(o.Object, split(*at)...); err != nil {
			errs = append(errs, field.Invalid(field.NewPath(*at), text, err.Error()))
		}
	}
	return errs
}

// replicas checks a number of replicas.
func replicas(o *object, at string) field.ErrorList {
	n, _, err := unstructured.NestedInt64(o.Object, split(at)...)
	switch path := field.NewPath(at); {
	case err != nil:
		return field.ErrorList{field.Invalid(path, n, err.Error())}
	case n < 0:
		return field.ErrorList{field.Invalid(path, n, "should be a non-negative integer")}
	case n > math.MaxInt32:
		return field.ErrorList{field.Invalid(path, n, fmt.Sprintf("should be less than or equal to %v", math.MaxInt32))}
	}
	return nil
}

func split(path string) []string { return strings.Split(strings.TrimPrefix(path, "."), ".") }
