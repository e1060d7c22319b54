package client

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/internal/decode"
	"github.com/kinform/kinform/internal/kubeproto"
	"github.com/kinform/kinform/internal/objid"
)

// inquiry asks about the objects of one list whether they are known. It belongs to one goroutine.
// The zero value knows none.
type inquiry struct {
	known func(objid.Identity) bool // nil if none are asked about
	text  strings.Builder           // the texts of identities, in pieces
	state decode.State              // of the last object in JSON
}

// inquiryRoom is the size of a piece. It holds the identities of some 40 objects, so an object
// costs no extra allocation.
const inquiryRoom = 4 << 10

// askAbout asks about a state whose bytes are only valid until it returns. version is the state's.
func (q *inquiry) askAbout(s kubeproto.State, sum uint64) (version string, known bool) {
	if n := len(s.Namespace) + len(s.Name) + len(s.UID) + len(s.ResourceVersion); n > q.text.Cap()-q.text.Len() {
		q.text = strings.Builder{}
		q.text.Grow(max(n, inquiryRoom))
	}
	id := objid.Identity{
		NamespacedName:  types.NamespacedName{Namespace: q.keep(s.Namespace), Name: q.keep(s.Name)},
		UID:             types.UID(q.keep(s.UID)),
		ResourceVersion: q.keep(s.ResourceVersion),
		Sum:             sum,
	}
	return id.ResourceVersion, q.known(id)
}

// keep returns a string in the piece, which has room for it.
func (q *inquiry) keep(text []byte) string {
	from := q.text.Len()
	q.text.Write(text)
	return q.text.String()[from:]
}
