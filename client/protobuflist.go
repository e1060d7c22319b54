package client

import (
	"errors"
	"fmt"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/internal/decode"
	"github.com/kinform/kinform/internal/kubeproto"
	"github.com/kinform/kinform/reflector"
)

// protobufList reads the body of one list in protobuf.
type protobufList struct {
	listing listing
	in      *kubeproto.ListReader
	index   int
}

// runProtobufList reads the whole body, as runList does.
func runProtobufList(d *protobufList) error {
	d.index = -1
	err := readProtobufList(d)
	if err == nil {
		return nil
	}
	at := "the start"
	if d.index >= 0 {
		at = fmt.Sprintf("items[%d]", d.index)
	}
	if d.listing.kind == "" && isForeignMessage(err) {
		return d.listing.body.unlike(err)
	}
	return explainListing(&d.listing, err, at, d.in.Offset(), false)
}

func readProtobufList(d *protobufList) error {
	apiVersion, kind, err := d.in.Open()
	if errors.Is(err, io.ErrUnexpectedEOF) && d.in.Offset() == 0 {
		return d.listing.body.unlike(err)
	}
	if err != nil {
		return err
	}
	d.listing.apiVersion, d.listing.kind = apiVersion, kind
	if err := head(d); err != nil {
		return err
	}
	for d.index = 0; ; d.index++ {
		raw, err := d.in.Next()
		if err == io.EOF {
			d.listing.meta = d.in.Meta()
			return endedListing(&d.listing, nil)
		}
		problem := wireError(err)
		if problem != nil && problem != decode.ErrOverLimit {
			return endedListing(&d.listing, problem)
		}
		if !take(&d.listing, inProtobuf, d.index, rawMessage{raw: raw}, problem) {
			return reflector.ErrListStopped
		}
	}
}

// head checks the envelope. In protobuf only the kind's name distinguishes a list from an
// object, and all lists of built-in types end in "List". If the client's kind gives the objects'
// kind, head accepts any other word as the kind of their list.
func head(d *protobufList) error {
	switch {
	case d.listing.kind == "" || d.listing.kind == statusKind:
		return notAList(d)
	case d.listing.kind == "List":
		return fmt.Errorf("%w: got %s, want a list of %s", errWrongKind,
			kindName(d.listing.apiVersion, d.listing.kind), kindName(d.listing.want.apiVersion, d.listing.want.kind))
	}
	if err := deriveKind(&d.listing); err != nil {
		return err
	}
	if !strings.HasSuffix(d.listing.kind, "List") && (d.listing.want.kind == "" || d.listing.kind == d.listing.want.kind) {
		return withoutItems(&d.listing)
	}
	return nil
}

// notAList returns the error for a Status, or for an object without a kind.
func notAList(d *protobufList) error {
	raw, err := d.in.Raw()
	if err == nil {
		if st, ok := (rawMessage{d.listing.apiVersion, d.listing.kind, raw}).status(); ok && st.Status != metav1.StatusSuccess {
			return failed(st)
		}
	}
	switch {
	case d.listing.kind == "":
		return d.listing.body.unlike(errors.New("no kind"))
	case err != nil:
		return wireError(err)
	}
	return withoutItems(&d.listing)
}
