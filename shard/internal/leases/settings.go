package leases

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/validation"
)

// The values of Settings that are zero. They are client-go's.
const (
	DefaultLeaseDuration = 15 * time.Second
	DefaultRenewDeadline = 10 * time.Second
	DefaultRetryPeriod   = 2 * time.Second
)

// Settings are the options that leader election and sharding have in common.
type Settings struct {
	Namespace, Name, Identity                 string
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
}

// Complete returns the settings with defaults.
func (s Settings) Complete() Settings {
	if s.Identity == "" {
		s.Identity = NewIdentity()
	}
	s.LeaseDuration = cmp.Or(s.LeaseDuration, DefaultLeaseDuration)
	s.RenewDeadline = cmp.Or(s.RenewDeadline, DefaultRenewDeadline)
	s.RetryPeriod = cmp.Or(s.RetryPeriod, DefaultRetryPeriod)
	return s
}

// Faults collects all that is wrong with the options of one constructor.
type Faults []string

// Check adds a fault unless ok.
func (f *Faults) Check(ok bool, format string, args ...any) {
	if !ok {
		*f = append(*f, fmt.Sprintf(format, args...))
	}
}

// CheckText adds a fault unless an option is text that a Lease can hold.
func (f *Faults) CheckText(option, text string) {
	f.Check(len(text) <= MaxIdentity && utf8.ValidString(text), "Options.%s has %d bytes: it must be valid UTF-8 of at most %d", option, len(text), MaxIdentity)
}

// invalid returns what is wrong with a name that is not empty.
func invalid(name string, check validation.ValidateNameFunc) []string {
	if name == "" {
		return nil
	}
	return check(name, false)
}

// CheckSettings adds the faults of the settings.
func (f *Faults) CheckSettings(s Settings) {
	f.Check(s.Name != "", `Options.Name "": give the Lease a name, such as "websites.example.com"`)
	f.Check(s.Namespace != "", `Options.Namespace "": give the namespace of the Lease, such as that of the pod`)
	for _, text := range invalid(s.Name, validation.NameIsDNSSubdomain) {
		f.Check(false, "Options.Name %q: %s", s.Name, text)
	}
	for _, text := range invalid(s.Namespace, validation.ValidateNamespaceName) {
		f.Check(false, "Options.Namespace %q: %s", s.Namespace, text)
	}
	f.CheckText("Identity", s.Identity)
	f.Check(s.LeaseDuration > s.RenewDeadline, "Options.LeaseDuration (%v) must be more than RenewDeadline (%v)", s.LeaseDuration, s.RenewDeadline)
	f.Check(s.LeaseDuration <= math.MaxInt32*time.Second, "Options.LeaseDuration (%v) must be less than 2³¹ seconds", s.LeaseDuration)
	f.Check(min(s.LeaseDuration, s.RenewDeadline, s.RetryPeriod) >= 0, "Options.LeaseDuration, RenewDeadline and RetryPeriod must not be negative")
}

// Err returns an error that names all faults and wraps invalid, or nil if there are none.
func (f Faults) Err(invalid error) error {
	if f == nil {
		return nil
	}
	return fmt.Errorf("%w: %s", invalid, strings.Join(f, "; "))
}
