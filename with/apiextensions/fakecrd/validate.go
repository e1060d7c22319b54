package fakecrd

import (
	"context"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// setDefaults completes a definition. Each storage version stays among the stored ones.
func setDefaults(d *definition) {
	apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(d)
	if storage, err := apihelpers.GetCRDStorageVersion(d); err == nil && !apihelpers.IsStoredVersion(d, storage) {
		d.Status.StoredVersions = append(d.Status.StoredVersions[:len(d.Status.StoredVersions):len(d.Status.StoredVersions)], storage)
	}
}

// validate returns the faults of a definition, and validateStatus the faults of its status.
func validate(d, old *definition) field.ErrorList {
	return check(d, old, func(now, was *apiextensions.CustomResourceDefinition) field.ErrorList {
		if was == nil {
			return validation.ValidateCustomResourceDefinition(context.Background(), now)
		}
		return validation.ValidateCustomResourceDefinitionUpdate(context.Background(), now, was)
	})
}

func validateStatus(d, old *definition) field.ErrorList {
	return check(d, old, func(now, was *apiextensions.CustomResourceDefinition) field.ErrorList {
		return validation.ValidateUpdateCustomResourceDefinitionStatus(context.Background(), now, was)
	})
}

// check asks a function of the API server, which takes the internal form of definitions. It panics
// for some of those that it has found invalid, such as one with selectable fields and a schema that
// is not structural: they are refused here, where the server answers with an internal error.
func check(d, old *definition, faults func(now, was *apiextensions.CustomResourceDefinition) field.ErrorList) (errs field.ErrorList) {
	defer func() {
		if p := recover(); p != nil {
			errs = field.ErrorList{field.InternalError(field.NewPath("spec"), fmt.Errorf("the validation of the API server panicked: %v", p))}
		}
	}()
	now, err := internal(d)
	var was *apiextensions.CustomResourceDefinition
	if err == nil && old != nil {
		was, err = internal(old)
	}
	if err != nil {
		return field.ErrorList{field.InternalError(field.NewPath("spec"), err)}
	}
	return faults(now, was)
}

func internal(d *definition) (*apiextensions.CustomResourceDefinition, error) {
	// The conversion keeps parts of its input.
	out := &apiextensions.CustomResourceDefinition{}
	return out, apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(d.DeepCopy(), out, nil)
}
