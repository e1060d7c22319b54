package shards

import (
	"fmt"
	"strings"
	"text/scanner"

	"k8s.io/apimachinery/pkg/sharding"
)

// parser looks one token ahead: tok is the first token that the methods have not read yet.
type parser struct {
	in    scanner.Scanner
	tok   rune
	depth int // of parentheses
}

func newParser(text string) *parser {
	p := &parser{}
	p.in.Init(strings.NewReader(text))
	p.in.Mode = scanner.ScanIdents | scanner.ScanInts
	p.in.Error = func(*scanner.Scanner, string) {} // the methods refuse unknown tokens themselves
	p.tok = p.in.Scan()
	return p
}

func (p *parser) unexpected() error {
	got := p.in.TokenText()
	if p.tok == scanner.EOF {
		got = "<EOF>"
	}
	return fmt.Errorf("CEL parse error: Syntax error: unexpected %q", got)
}

func (p *parser) take(want rune) error {
	if p.tok != want {
		return p.unexpected()
	}
	p.tok = p.in.Scan()
	return nil
}

func (p *parser) union() (all []sharding.ShardRangeRequirement, err error) {
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

// maxDepth bounds the nesting of parentheses, and so the recursion.
const maxDepth = 100

func (p *parser) term() ([]sharding.ShardRangeRequirement, error) {
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

func (p *parser) arguments() (r sharding.ShardRangeRequirement, err error) {
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

func (p *parser) field() (string, error) {
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
	if path != byUID && path != byNamespace {
		return "", fmt.Errorf("unsupported field path %q; supported: %s, %s", path, byUID, byNamespace)
	}
	return path, nil
}

// literal reads a string in single or double quotes. It knows no escapes, because a number
// needs none.
func (p *parser) literal() (string, error) {
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

// checkHex requires all 16 hexadecimal digits of a bound. 2^64 ends the last range and has 17.
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
