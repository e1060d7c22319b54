package client

// headerMember transcodes a member of the value itself, or of its metadata. What
// identifies an object is found also when out is full: CBOR as API servers write it has the
// metadata behind what is large.
func (r *cborReader) headerMember(depth int) error {
	top := depth == r.base
	if top {
		r.within = false
	}
	name, err := r.aside(r.name, depth+1)
	if err != nil {
		return err
	}
	text, _ := jsonText(name)
	kept := (*string)(nil)
	if top {
		r.within, kept = string(text) == "metadata", r.found.member(string(text))
	} else {
		kept = r.found.metaMember(string(text))
	}
	r.putBytes(name)
	r.put(":")
	if kept == nil {
		return r.transcode(depth + 1)
	}
	value, err := r.aside(r.transcode, depth+1)
	if err != nil {
		return err
	}
	r.putBytes(value)
	if text, ok := jsonText(value); ok && r.full {
		*kept = string(text)
	}
	return nil
}

// aside transcodes one value and returns its JSON, which is valid until the next call. It
// is not in out. If it alone is over the limit, it is cut off, and out is full.
func (r *cborReader) aside(transcode func(depth int) error, depth int) ([]byte, error) {
	out, full := r.out, r.full
	r.out, r.full = r.spare[:0], false
	err := transcode(depth)
	value := r.out
	r.out, r.full, r.spare = out, full || r.full, value
	return value, err
}

func (r *cborReader) putBytes(json []byte) {
	if r.fits(len(json)) {
		r.out = append(r.out, json...)
	}
}

// header is what identifies a value over the limit, as JSON: what is in out, and what came
// behind.
func (r *cborReader) header() []byte {
	h := scanStart(r.out)
	for _, field := range []struct{ early, late *string }{
		{&h.APIVersion, &r.found.APIVersion},
		{&h.Kind, &r.found.Kind},
		{&h.Metadata.Namespace, &r.found.Metadata.Namespace},
		{&h.Metadata.Name, &r.found.Metadata.Name},
		{&h.Metadata.ResourceVersion, &r.found.Metadata.ResourceVersion},
	} {
		if *field.late != "" {
			*field.early = *field.late
		}
	}
	return h.appendJSON(nil)
}
