package slots

import "github.com/kinform/kinform/internal/packed"

// opener makes objects of the bytes that slots hold instead of them.
type opener struct {
	codec   packed.Codec
	reports *reports
}

// open returns the object of some bytes. If they cannot be decoded, which is reported, it has what could be, but
// a pointer is not nil.
//
//go:noinline
func open[T any](o *opener, bytes string) (obj T) {
	o.decode(bytes, &obj)
	return obj
}

func (o *opener) decode(bytes string, to any) {
	if err := o.codec.Unpack(bytes, to); err != nil {
		o.reports.report("unpack", err)
	}
}

// encode returns the bytes of an object, "" if it has to be kept as it is. key names it in the report, of which there
// is one for each key.
func (o *opener) encode(obj any, key func() string) string {
	bytes, err := o.codec.Pack(obj)
	if err != nil {
		key := key()
		o.reports.report("pack "+key, &packed.KeptError{Key: key, Err: err})
	}
	return bytes
}
