package fake

import (
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func formatRV(rv uint64) string { return strconv.FormatUint(rv, 10) }

func parseRV(text string) (uint64, error) {
	if text == "" {
		return 0, nil
	}
	rv, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		bad := field.Invalid(field.NewPath("resourceVersion"), text, err.Error())
		return 0, apierrors.NewBadRequest("invalid resource version: " + bad.Error())
	}
	return rv, nil
}
