package fakecrd_test

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/kind"
)

// typedWidgets are widgets of which only the metadata is known.
var typedWidgets = kind.Of[*metav1.PartialObjectMetadata](schema.GroupVersion{Group: "example.com", Version: "v1"}, "widgets").Named("Widget")
