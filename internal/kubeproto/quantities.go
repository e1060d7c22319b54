package kubeproto

import "k8s.io/apimachinery/pkg/api/resource"

// quantitySlots is the number of quantities that are kept.
const quantitySlots = 16

// quantities are the last parsed quantities, by slotOf. A few come again and again, such as the
// requests and limits of pods, and are parsed only twice.
type quantities [quantitySlots]struct {
	text  string
	value resource.Quantity
	plain bool // value has no pointer, so that copies of it share nothing
}

// quantity parses text, which is a result of Get: it is kept.
func (s *Strings) quantity(text string) (resource.Quantity, error) {
	if s == nil || text == "" || len(text) > maxInterned { // a long one would be kept for long
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
	// A quantity that an int64 cannot hold has a pointer to a number, which methods change. It is
	// another pointer each time, so two such values are never the same.
	q.text, q.value, q.plain = text, value, known && q.value == value
	return value, nil
}

// slotOf returns the place of a quantity, whose text is not empty.
func slotOf(text string) int {
	return (int(text[0])*5 + int(text[len(text)-1]) + len(text)) % quantitySlots
}
