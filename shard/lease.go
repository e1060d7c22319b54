package shard

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/shard/internal/assign"
	"github.com/kinform/kinform/shard/internal/replica"
	"github.com/kinform/kinform/shard/leader"
)

// Kind is the kind of all objects of this package. A test registers it at the fake server:
//
//	fake.Register(server, shard.Kind, fake.Rules{})
var Kind = leader.Kind

// The label and the annotations of Leases. See the package documentation.
const (
	LabelName            = "shard.kinform.io/name"
	AnnotationAssignment = "shard.kinform.io/assignment"
	AnnotationMember     = "shard.kinform.io/member"
	annotationSeal       = "shard.kinform.io/seal"
)

// seal is a checksum of texts. It is no secret: it finds edits, not forgeries.
func seal(texts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	return hex.EncodeToString(sum[:8])
}

// assignment is the text of a plan.
type assignment struct {
	Scheme string            `json:"scheme"`
	UID    string            `json:"uid,omitempty"`
	Epoch  int64             `json:"epoch"`
	Open   bool              `json:"open"`
	Owners map[string]string `json:"owners,omitempty"`
	Lease  int64             `json:"leaseMilliseconds,omitempty"`
	Ranges []spanText        `json:"ranges"`
}

// spanText is a range. First has 16 hexadecimal digits, because JSON numbers do not have 64 bits
// everywhere.
type spanText struct {
	First  string `json:"first"`
	Owner  string `json:"owner,omitempty"`
	Next   string `json:"next,omitempty"`
	Since  int64  `json:"since"`
	Number int64  `json:"number"`
}

func planText(p replica.Plan) (string, error) {
	a := assignment{Scheme: p.Scheme, UID: p.UID, Epoch: p.Epoch, Open: p.Open, Owners: p.Names, Lease: p.LeaseMilliseconds}
	for _, r := range p.Ranges {
		a.Ranges = append(a.Ranges, spanText{fmt.Sprintf("%016x", r.First), r.Owner, r.Next, r.Since, r.Number})
	}
	text, err := json.Marshal(a)
	return string(text), err
}

func parsePlan(text string) (p replica.Plan, err error) {
	var a assignment
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return p, err
	}
	p = replica.Plan{Scheme: a.Scheme, UID: a.UID, Epoch: a.Epoch, Open: a.Open, Names: a.Owners, LeaseMilliseconds: a.Lease}
	for _, r := range a.Ranges {
		first, err := strconv.ParseUint(r.First, 16, 64)
		if err != nil {
			return p, err
		}
		p.Ranges = append(p.Ranges, assign.Range{First: first, Owner: r.Owner, Next: r.Next, Since: r.Since, Number: r.Number})
	}
	return p, p.Ranges.Check()
}

// sheetAnnotations are the annotations of the assignment.
func sheetAnnotations(name string, p replica.Plan) (map[string]string, error) {
	text, err := planText(p)
	return map[string]string{AnnotationAssignment: text, annotationSeal: seal(name, text)}, err
}

// memberAnnotations are the annotations of a replica's Lease.
func memberAnnotations(name, identity string, renewed int64, info replica.Info) (map[string]string, error) {
	text, err := json.Marshal(info)
	return map[string]string{
		AnnotationMember: string(text), annotationSeal: seal(name, identity, strconv.FormatInt(renewed, 10), string(text)),
	}, err
}

func sheetOf(l *leader.Lease) *replica.Sheet {
	s := &replica.Sheet{UID: string(l.UID), Version: l.ResourceVersion}
	text := l.Annotations[AnnotationAssignment]
	if l.Annotations[annotationSeal] != seal(l.Name, text) {
		return s
	}
	plan, err := parsePlan(text)
	s.Plan, s.Valid = plan, err == nil
	return s
}

func recordOf(l *leader.Lease) *replica.Record {
	r := &replica.Record{Name: l.Name, UID: string(l.UID), Version: l.ResourceVersion}
	if l.Spec.HolderIdentity != nil {
		r.Identity = *l.Spec.HolderIdentity
	}
	if l.Spec.RenewTime != nil {
		r.Renewed = l.Spec.RenewTime.UnixMicro()
	}
	text := l.Annotations[AnnotationMember]
	if l.Annotations[annotationSeal] != seal(l.Name, r.Identity, strconv.FormatInt(r.Renewed, 10), text) {
		return r
	}
	r.Valid = json.Unmarshal([]byte(text), &r.Info) == nil
	if !r.Valid {
		r.Info = replica.Info{}
	}
	return r
}

// newLease returns the Lease that a request creates.
func (r *Replica) newLease(q replica.Request) (*leader.Lease, error) {
	l := &leader.Lease{ObjectMeta: metav1.ObjectMeta{
		Namespace: r.opts.Namespace, Name: q.Name, Labels: map[string]string{LabelName: r.opts.Name},
	}}
	var err error
	if q.Verb == replica.CreateSheet {
		l.Annotations, err = sheetAnnotations(q.Name, q.Plan)
		return l, err
	}
	seconds := int32((r.opts.LeaseDuration + time.Second - 1) / time.Second)
	now := metav1.NewMicroTime(time.UnixMicro(q.Renewed).UTC())
	l.Spec = leader.LeaseSpec{HolderIdentity: &r.opts.Identity, LeaseDurationSeconds: &seconds, AcquireTime: &now, RenewTime: &now}
	l.Annotations, err = memberAnnotations(q.Name, r.opts.Identity, q.Renewed, q.Info)
	return l, err
}

// patch returns the merge patch of a request, which is for one state of the Lease. It leaves fields
// alone that this package does not know.
func (r *Replica) patch(q replica.Request, identity string) (data []byte, err error) {
	type metadata struct {
		UID             types.UID         `json:"uid"`
		ResourceVersion string            `json:"resourceVersion"`
		Annotations     map[string]string `json:"annotations"`
	}
	type spec struct {
		RenewTime *metav1.MicroTime `json:"renewTime"`
	}
	body := struct {
		Metadata metadata `json:"metadata"`
		Spec     *spec    `json:"spec,omitempty"`
	}{Metadata: metadata{UID: types.UID(q.UID), ResourceVersion: q.Version}}
	switch q.Verb {
	case replica.WriteSheet:
		body.Metadata.Annotations, err = sheetAnnotations(q.Name, q.Plan)
	default:
		body.Metadata.Annotations, err = memberAnnotations(q.Name, identity, q.Renewed, q.Info)
		if q.Verb == replica.RenewLease {
			now := metav1.NewMicroTime(time.UnixMicro(q.Renewed).UTC())
			body.Spec = &spec{&now}
		}
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(body)
}

// viewOf makes a view of Leases.
func viewOf(name string, leases map[string]*entry, rewound bool) *replica.View {
	v := &replica.View{Rewound: rewound}
	for key, e := range leases {
		if key == name {
			v.Sheet = e.sheet
		} else {
			v.Records = append(v.Records, e.record)
		}
	}
	slices.SortFunc(v.Records, func(a, b *replica.Record) int { return strings.Compare(a.Name, b.Name) })
	return v
}
