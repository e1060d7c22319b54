package sim

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// names are the generated names of a run. They depend on everything that happened before, so schedules and states do
// not have them.
type names struct {
	generics map[string]string // by generated name: its beginning and a star
	longest  []string          // the generated names, the longest first
	aliases  map[string]string // by resource and key: the key in schedules
	actual   map[string]string // the other way round
	named    map[string]int    // how many names of one beginning there were
}

func newNames() *names {
	return &names{generics: map[string]string{}, aliases: map[string]string{}, actual: map[string]string{}, named: map[string]int{}}
}

// name notes that the server has generated the name of s, whose create was at.
func (n *names) name(s seen, at point) {
	n.generalize(text(meta(s.object)["name"]), strings.TrimSuffix(at.key[strings.Index(at.key, "/")+1:], "*")+"*")
	n.aliases[s.String()] = fmt.Sprint(at.key, n.named[at.collection()+at.key]+1)
	n.actual[at.collection()+" "+n.aliases[s.String()]] = s.key()
	n.named[at.collection()+at.key]++
}

// uidForm is the form of a uid in another text.
var uidForm = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

var hashForm = regexp.MustCompile(`[-.][0-9a-z]{8,}$`)

// digest notes a name that the program chose. If it has a uid in it, or ends in a hash or a time, which may come of uids,
// versions and the clock, that counts as generated.
func (n *names) digest(name string) {
	if generic := uidForm.ReplaceAllString(name, "*"); generic != name {
		n.generalize(name, generic)
		return
	}
	if end := hashForm.FindString(name); strings.ContainsAny(end, "0123456789") {
		n.generalize(name, strings.TrimSuffix(name, end[1:])+"*")
	}
}

func (n *names) generalize(name, generic string) {
	if _, known := n.generics[name]; !known {
		n.longest = append(n.longest, name)
		slices.SortStableFunc(n.longest, func(a, b string) int { return len(b) - len(a) })
	}
	n.generics[name] = generic
}

// aliased gives a generated name the name that schedules have for it: the beginning, a star and a number. Clients make up
// the ends of the names of Events, by lot or by the clock.
func (n *names) aliased(c call) call {
	if i := strings.LastIndexByte(c.key, '.'); i > 0 && c.event() {
		c.key = c.key[:i] + ".*"
	}
	if alias, ok := n.aliases[c.collection()+" "+c.key]; ok {
		c.key = alias
	}
	return c
}

// unaliased returns the key that the server has for the object of a call.
func (n *names) unaliased(c call) string {
	if key, ok := n.actual[c.collection()+" "+c.key]; ok {
		return key
	}
	return c.key
}

// generic returns the resource and key of an object, without the generated part of its name.
func (n *names) generic(s seen) string {
	m := meta(s.object)
	return s.collection + " " + keyText(text(m["namespace"]), n.generated(text(m["name"])))
}

// generated returns a value with the beginning and a star for each generated name in it: it may be a message or a URL.
func (n *names) generated(value string) string {
	if generic, ok := n.generics[value]; ok {
		return generic
	}
	for _, name := range n.longest {
		if len(value) > len(name) {
			value = strings.ReplaceAll(value, name, n.generics[name])
		}
	}
	return value
}
