package fake

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake/internal/pagetoken"
)

// listRequest is a checked LIST. It follows the API concepts page ("Semantics for get and list");
// the zero value asks for everything as it is now.
type listRequest struct {
	atLeast uint64 // the list may not be older; 0 for any
	exact   uint64 // the list must be of this resourceVersion; 0 for the current one
	paged   bool   // exact only because it is a page
	from    types.NamespacedName
	after   bool // from is the last key of the page before
	limit   int64
	asked   int64 // the limit of the request, which a list of any version ignores; 0 for none
}

// page is one answer.
type page struct {
	items []*revision
	meta  metav1.ListMeta
}

// listRequest checks opts. Errors: Invalid, BadRequest; 410 is found by list.
func (t *table) listRequest(opts metav1.ListOptions) (q listRequest, err error) {
	in, rv, err := t.server.checkOptions(opts, false)
	if err != nil {
		return q, err
	}
	q.limit = max(in.Limit, 0)
	q.asked = q.limit
	switch {
	case in.Continue != "":
		c, err := pagetoken.Decode(in.Continue)
		if err != nil {
			return q, err
		}
		if rv != 0 {
			return q, apierrors.NewBadRequest("specifying resource version is not allowed when using continue")
		}
		q.from, q.after, q.exact = c.After, true, uint64(max(c.RV, 0))
	case in.ResourceVersionMatch == metav1.ResourceVersionMatchExact:
		q.exact = rv
	case in.ResourceVersionMatch == "" && q.limit > 0 && rv != 0:
		q.exact, q.paged = rv, true // a page without a match rule is of exactly that version
	default:
		q.atLeast = rv
		if in.ResourceVersion == "0" {
			q.limit = 0 // "any version" is answered from the watch cache, in one piece
		}
	}
	return q, nil
}

// list answers q. Errors: 410 Expired and 504 Timeout.
func (t *table) list(m *matcher, q listRequest) (page, error) {
	found, rv, err := t.snapshot(m, q)
	if err != nil {
		return page{}, err
	}
	p := page{meta: metav1.ListMeta{ResourceVersion: formatRV(rv)}}
	if m.shards != nil {
		p.meta.ShardInfo = &metav1.ShardInfo{Selector: m.shards.String()}
	}
	if err := t.readable(found, m, q); err != nil {
		return page{}, err
	}
	if m.all() && (q.limit == 0 || int64(len(found)) <= q.limit) {
		p.items = found
		return p, nil
	}
	for i, v := range found {
		if m.match(v.obj) {
			p.items = append(p.items, v)
		}
		// As in the API server, the remaining objects need not match: a last page may be empty.
		if left := int64(len(found) - i - 1); q.limit > 0 && int64(len(p.items)) == q.limit && left > 0 {
			p.meta.Continue = pagetoken.Token{RV: int64(rv), After: v.key}.Encode()
			if m.all() {
				p.meta.RemainingItemCount = &left
			}
			break
		}
	}
	return p, nil
}

// readable makes views of the objects that a list reads, in place. As in the API server, a list with
// a limit and without selectors reads the storage if the cache cannot begin.
func (t *table) readable(found []*revision, m *matcher, q listRequest) error {
	if !m.all() || q.asked == 0 {
		return t.cacheable(found)
	}
	if q.limit > 0 {
		found = found[:min(int64(len(found)), q.limit)]
	}
	if bad := t.views(found); len(bad) > 0 {
		return t.errUnreadable(bad)
	}
	return nil
}

// snapshot gathers the objects that q can see, before selectors, and their resourceVersion.
func (t *table) snapshot(m *matcher, q listRequest) ([]*revision, uint64, error) {
	s := t.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := t.checkServed(); err != nil {
		return nil, 0, err
	}
	single := m.name != "" && (m.namespace != "" || t.res.ClusterScoped)
	if q.paged && single { // the API server reads the one object, and no page
		q.atLeast, q.exact = q.exact, 0
	}
	if want := max(q.exact, q.atLeast); want > s.rv {
		return nil, 0, errTooLarge(want, s.rv)
	}
	if q.exact != 0 && q.exact < s.compacted {
		if q.after {
			return nil, 0, errContinueStale(q.from)
		}
		return nil, 0, apierrors.NewResourceExpired(msgListStale)
	}
	rv := s.rv
	if q.exact != 0 {
		rv = q.exact
	}
	if single && rv == s.rv && !q.after {
		if v := t.live(types.NamespacedName{Namespace: m.namespace, Name: m.name}); v != nil {
			return []*revision{v}, rv, nil
		}
		return nil, rv, nil
	}
	from := types.NamespacedName{Namespace: m.namespace}
	if q.after && compareKeys(q.from, from) >= 0 {
		// No name holds a zero byte: this is the least key after q.from.
		from = types.NamespacedName{Namespace: q.from.Namespace, Name: q.from.Name + "\x00"}
	}
	return t.gatherAt(rv, m.namespace, from), rv, nil
}
