package kubeproto

import "k8s.io/apimachinery/pkg/api/resource"

// quantitySlots is the number of quantities that are kept.
const quantitySlots = 16

// quantities are the last parsed quantities. Few different ones come again and again, such as the
// requests and limits of pods.
type quantities [quantitySlots]struct {
	text  string
	value resource.Quantity
	plain bool // a copy of value shares no memory with it that a method writes to
}

// quantity parses text, which is a result of Get.
func (s *Strings) quantity(text string) (resource.Quantity, error) {
	if s == nil || text == "" {
		return resource.ParseQuantity(text)
	}
	if s.quantities == nil {
		s.quantities = new(quantities)
	}
	q := &s.quantities[slotOf(text)]
	known := q.text == text
	if known && q.plain {
		return q.value, nil
	}
	value, err := resource.ParseQuantity(text)
	if err != nil {
		return value, err
	}
	// A large or very exact quantity has a pointer, which is another one each time.
	q.text, q.value, q.plain = text, value, known && q.value == value
	return value, nil
}

// slotOf returns the place of a quantity.
func slotOf(text string) int {
	return (int(text[0])*5 + int(text[len(text)-1]) + len(text)) % quantitySlots
}
