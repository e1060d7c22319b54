package storageerror_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/kinform/kinform/internal/storageerror"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTexts(t *testing.T) {
	unmet := storageerror.Unmet("UID", "a", "b")
	for got, want := range map[string]string{
		storageerror.Invalid("/pods/n/p", false, unmet): "StorageError: invalid object, Code: 4, Key: /registry/pods/n/p, ResourceVersion: 0, " +
			"AdditionalErrorMsg: Precondition failed: UID in precondition: a, UID in object meta: b",
		storageerror.Invalid("/pods/n/p", true, "why"):             "StorageError: invalid object, Code: 4, Key: /pods/n/p, ResourceVersion: 0, AdditionalErrorMsg: why",
		storageerror.Corrupt(storageerror.Key("/pods/n/p"), "why"): "StorageError: corrupt object, Code: 7, Key: /registry/pods/n/p, ResourceVersion: 0, AdditionalErrorMsg: why",
	} {
		if got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}
