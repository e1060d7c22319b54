package client

import (
	"errors"
	"fmt"
	"io"

	"github.com/kinform/kinform/internal/decode"
	"github.com/kinform/kinform/reflector"
)

// listDecoder reads the body of one list in JSON. The members may come in any order.
// The API server sends kind, apiVersion, metadata, items.
type listDecoder struct {
	listing listing
	in      *decode.Reader

	items  bool // seen
	at     string
	index  int
	status statusMembers // in place of a list
}

// runList reads the whole body. It returns reflector.ErrListStopped unchanged. Other errors name the
// part that was being read.
func runList(d *listDecoder) error {
	if err := readJSONList(d); err != nil {
		at := d.at
		if at == "items" && d.index >= 0 {
			at = fmt.Sprintf("items[%d]", d.index)
		}
		return explainListing(&d.listing, err, at, d.in.Offset(), d.listing.kind == "" && d.listing.apiVersion == "" && !d.items)
	}
	return nil
}

func readJSONList(d *listDecoder) error {
	d.at = "the start"
	if err := decode.EachMember(d.in, func(name string) error { return readMember(d, name) }); err != nil {
		return err
	}
	if err := completeList(d); err != nil {
		return err
	}
	d.at = "the end"
	if k, err := d.in.Peek(); err == nil {
		return fmt.Errorf("%s after the list", decode.KindName(k))
	} else if err != io.EOF {
		return err
	}
	return nil
}

// readMember reads the value of one member of the list.
func readMember(d *listDecoder, name string) (err error) {
	switch d.at = name; name {
	case "kind":
		err = listText(d, &d.listing.kind, deriveKind)
	case "apiVersion":
		err = listText(d, &d.listing.apiVersion, checkHeader)
	case "metadata":
		err = readListMeta(d)
	case "items":
		err = readItems(d)
	default:
		err = d.status.keep(d.in, name)
	}
	if err == nil {
		d.at = "the members of the list"
	}
	return err
}

// listText reads a string member into *s and checks it.
func listText(d *listDecoder, s *string, check func(*listing) error) error {
	err := decode.ReadText(d.in, s)
	var shape *decode.ShapeError
	if errors.As(err, &shape) {
		return d.listing.body.unlike(err)
	}
	if err != nil {
		return err
	}
	return check(&d.listing)
}

func readListMeta(d *listDecoder) error {
	raw, err := d.in.Value()
	if err != nil {
		return err
	}
	if err := d.listing.objects.json().Unmarshal(raw, &d.listing.meta); err != nil {
		return d.listing.body.unlike(err)
	}
	return nil
}

func readItems(d *listDecoder) error {
	d.items = true
	d.index = -1
	if k, err := d.in.Peek(); err == nil && k == 'n' {
		return d.in.Skip() // a nil slice of a Go server
	}
	if err := d.in.Open('['); err != nil {
		return err
	}
	for d.index = 0; ; d.index++ {
		more, err := d.in.More(']')
		if err != nil || !more {
			return endedListing(&d.listing, err)
		}
		obj, raw, problem, err := readListed(d.listing.objects, d.in, d.listing.want, d.listing.work)
		if err != nil {
			return endedListing(&d.listing, err)
		}
		if obj.known && !addListed(&d.listing, obj, nil) || !obj.known && !take(&d.listing, inJSON, d.index, rawMessage{raw: raw}, problem) {
			return reflector.ErrListStopped
		}
	}
}

// completeList judges the body after all of its members.
func completeList(d *listDecoder) error {
	if !d.items {
		if err := refusalIn(d.listing.objects, d.listing.apiVersion, d.listing.kind, &d.status); err != nil {
			return err
		}
	}
	switch {
	case d.listing.kind == "":
		return d.listing.body.unlike(errors.New(`no "kind"`))
	case d.listing.apiVersion == "":
		return d.listing.body.unlike(errors.New(`no "apiVersion"`))
	case !d.items:
		return withoutItems(&d.listing)
	}
	return releaseHeld(&d.listing)
}
