package refusal_test

import (
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/fake/internal/refusal"
)

func TestStatusOf(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		code   int32
		reason metav1.StatusReason
	}{
		"other error":     {errors.New("x"), 500, metav1.StatusReasonInternalError},
		"wrapped":         {fmt.Errorf("x: %w", apierrors.NewNotFound(schema.GroupResource{}, "p")), 404, metav1.StatusReasonNotFound},
		"no code":         {refusal.New(0, metav1.StatusReasonUnknown, "x"), 500, metav1.StatusReasonUnknown},
		"method":          {refusal.Method(), 405, metav1.StatusReasonMethodNotAllowed},
		"no resource":     {refusal.NoResource(), 404, metav1.StatusReasonNotFound},
		"media":           {refusal.UnsupportedMedia("a", "b"), 415, metav1.StatusReasonUnsupportedMediaType},
		"not acceptable":  {refusal.NotAcceptable("a"), 406, metav1.StatusReasonNotAcceptable},
		"renamed":         {refusal.Renamed("pods", "a", "b"), 500, metav1.StatusReasonInternalError},
		"other namespace": {refusal.OtherNamespace(), 400, metav1.StatusReasonBadRequest},
		"table":           {refusal.TableInclude("x"), 400, metav1.StatusReasonBadRequest},
		"unprocessable":   {refusal.Unprocessable(errors.New("x")), 422, metav1.StatusReasonInvalid},
	} {
		st := refusal.StatusOf(c.err)
		if st.Code != c.code || c.reason != "" && st.Reason != c.reason || st.Kind != "Status" || st.APIVersion != "v1" || st.Message == "" {
			t.Errorf("%s: %+v", name, st)
		}
	}
}
