package fake

import (
	"fmt"
	"net/http"
	"strings"
	"text/scanner"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/sharding"
)

// shards is a parsed shardSelector (KEP-5866): the union of ranges of the hash of one
// field, which is the uid or the namespace.
type shards struct {
	ranges []sharding.ShardRangeRequirement // never empty; all of one field
	text   string                           // in the form that the server answers with
}

func (s *shards) match(obj metav1.Object) bool {
	value := string(obj.GetUID())
	if s.ranges[0].Key == shardByNamespace {
		value = obj.GetNamespace()
	}
	hash := "0x" + sharding.HashField(value)
	for _, r := range s.ranges {
		if !sharding.HexLess(hash, r.Start) && sharding.HexLess(hash, r.End) {
			return true
		}
	}
	return false
}

const (
	shardByUID       = "object.metadata.uid"
	shardByNamespace = "object.metadata.namespace"
)

// errShards is what the API server says to a shardSelector that it cannot read: a 500.
func errShards(err error) error {
	return statusError(http.StatusInternalServerError, metav1.StatusReasonUnknown, "invalid shard selector: "+err.Error())
}

// parseShards reads shardRange(FIELD, 'START', 'END') || ..., which is the part of CEL that
// the API server takes.
func parseShards(text string) (*shards, error) {
	if strings.TrimSpace(text) == "" {
		return nil, fmt.Errorf("empty shard selector is not allowed; omit the parameter for unfiltered lists")
	}
	p := newShardParser(text)
	ranges, err := p.union()
	if err == nil && p.tok != scanner.EOF {
		err = p.unexpected()
	}
	if err != nil {
		return nil, err
	}
	for _, r := range ranges[1:] {
		if r.Key != ranges[0].Key {
			return nil, fmt.Errorf("all shard ranges must use the same field, got %q and %q", ranges[0].Key, r.Key)
		}
	}
	return &shards{ranges, sharding.NewSelector(ranges...).String()}, nil
}

// shardParser looks one token ahead. Each method leaves tok behind what it read.
type shardParser struct {
	in    scanner.Scanner
	tok   rune
	depth int // of parentheses
}

func newShardParser(text string) *shardParser {
	p := &shardParser{}
	p.in.Init(strings.NewReader(text))
	p.in.Mode = scanner.ScanIdents | scanner.ScanInts
	p.in.Error = func(*scanner.Scanner, string) {} // what it does not know is refused here
	p.tok = p.in.Scan()
	return p
}

func (p *shardParser) unexpected() error {
	got := p.in.TokenText()
	if p.tok == scanner.EOF {
		got = "<EOF>"
	}
	return fmt.Errorf("CEL parse error: Syntax error: unexpected %q", got)
}

func (p *shardParser) take(want rune) error {
	if p.tok != want {
		return p.unexpected()
	}
	p.tok = p.in.Scan()
	return nil
}

func (p *shardParser) union() (all []sharding.ShardRangeRequirement, err error) {
	for {
		some, err := p.term()
		if err != nil {
			return nil, err
		}
		if all = append(all, some...); p.tok != '|' {
			return all, nil
		}
		for range 2 {
			if err := p.take('|'); err != nil {
				return nil, err
			}
		}
	}
}

// maxDepth bounds the recursion.
const maxDepth = 100

func (p *shardParser) term() ([]sharding.ShardRangeRequirement, error) {
	if p.tok == '(' {
		if p.depth++; p.depth > maxDepth {
			return nil, fmt.Errorf("CEL parse error: expression recursion limit exceeded: %d", maxDepth)
		}
		if err := p.take('('); err != nil {
			return nil, err
		}
		inner, err := p.union()
		if err != nil {
			return nil, err
		}
		p.depth--
		return inner, p.take(')')
	}
	name := p.in.TokenText()
	if err := p.take(scanner.Ident); err != nil {
		return nil, err
	}
	if err := p.take('('); err != nil {
		return nil, err
	}
	if name != "shardRange" {
		return nil, fmt.Errorf("unsupported function %q; only shardRange() and || are allowed", name)
	}
	r, err := p.arguments()
	if err != nil {
		return nil, err
	}
	return []sharding.ShardRangeRequirement{r}, p.take(')')
}

func (p *shardParser) arguments() (r sharding.ShardRangeRequirement, err error) {
	if r.Key, err = p.field(); err != nil {
		return r, err
	}
	for _, bound := range []struct {
		name string
		into *string
	}{{"hexStart", &r.Start}, {"hexEnd", &r.End}} {
		if p.tok == ')' {
			return r, fmt.Errorf("shardRange() requires exactly 3 arguments")
		}
		if err := p.take(','); err != nil {
			return r, err
		}
		if *bound.into, err = p.literal(); err != nil {
			return r, err
		}
		if err := checkHex(bound.name, *bound.into); err != nil {
			return r, err
		}
	}
	if p.tok == ',' {
		return r, fmt.Errorf("shardRange() requires exactly 3 arguments")
	}
	if !sharding.HexLess(r.Start, r.End) {
		return r, fmt.Errorf("shard range start %s must be less than end %s", r.Start, r.End)
	}
	return r, nil
}

func (p *shardParser) field() (string, error) {
	path := p.in.TokenText()
	if err := p.take(scanner.Ident); err != nil {
		return "", err
	}
	for p.tok == '.' {
		if err := p.take('.'); err != nil {
			return "", err
		}
		path += "." + p.in.TokenText()
		if err := p.take(scanner.Ident); err != nil {
			return "", err
		}
	}
	if path != shardByUID && path != shardByNamespace {
		return "", fmt.Errorf("unsupported field path %q; supported: %s, %s", path, shardByUID, shardByNamespace)
	}
	return path, nil
}

// literal reads a string in either kind of quotes, without escapes: none belongs in a
// number.
func (p *shardParser) literal() (string, error) {
	quote := p.tok
	if quote != '\'' && quote != '"' {
		return "", p.unexpected()
	}
	var s strings.Builder
	for {
		switch c := p.in.Next(); c {
		case scanner.EOF:
			p.tok = c
			return "", p.unexpected()
		case quote:
			p.tok = p.in.Scan()
			return s.String(), nil
		default:
			s.WriteRune(c)
		}
	}
}

// checkHex holds a bound to 64 bits, written out; 2^64 is the end of everything.
func checkHex(name, s string) error {
	hex, ok := strings.CutPrefix(s, "0x")
	switch {
	case !ok:
		return fmt.Errorf("%s must have '0x' prefix, got %q", name, s)
	case hex == "":
		return fmt.Errorf("%s: hex value is required after '0x'", name)
	case len(hex) > 17:
		return fmt.Errorf("%s: hex value too long (%d chars, max 17): %q", name, len(hex), hex)
	}
	for _, c := range hex {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return fmt.Errorf("%s: invalid hex character %q in %q", name, string(c), s)
		}
	}
	switch {
	case len(hex) == 17 && s != "0x10000000000000000":
		return fmt.Errorf("%s: 17-digit hex value must be '0x10000000000000000' (2^64), got %q", name, s)
	case len(hex) < 16:
		return fmt.Errorf("%s must be a 0x-prefixed 16-digit hex value, got %q (did you mean %q?)", name, s, "0x"+strings.Repeat("0", 16-len(hex))+hex)
	}
	return nil
}
