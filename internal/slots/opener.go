package slots

import "github.com/kinform/kinform/internal/packed"

// opener makes objects of the bytes that slots hold instead of them.
type opener struct {
	codec   packed.Codec
	reports *reports
}

// open returns the object of some bytes, and a copy of kept if there are none, because it could not be packed. If they
// cannot be decoded, which is reported, the object has what could be, but a pointer is not nil.
//
//go:noinline
func open[T any](o *opener, kept T, bytes string) T {
	obj := kept
	o.decode(bytes, &obj)
	return obj
}

func (o *opener) decode(bytes string, to any) {
	if bytes == "" {
		packed.Copy(to)
	} else if err := o.codec.Unpack(bytes, to); err != nil {
		o.reports.report("unpack", err)
	}
}
