// Package apiextensions holds the kind CustomResourceDefinition. Package fakecrd makes a fake
// server serve it.
//
// It is a separate module because it needs k8s.io/apiextensions-apiserver.
package apiextensions

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/kinform/kinform/kind"
)

// CustomResourceDefinitions are cluster-scoped. A CustomResourceDefinition makes the API server
// serve objects of a further kind.
var CustomResourceDefinitions = kind.Of[*apiextensionsv1.CustomResourceDefinition](apiextensionsv1.SchemeGroupVersion, "customresourcedefinitions").
	Cluster().WithSubresources("status").WithShortNames("crd", "crds").WithCategories("api-extensions")
