// Package storageerror has the texts of the errors of an API server's storage, which show in its
// answers.
package storageerror

import "fmt"

// Invalid says that the object at a key of the storage is not as the request requires. A dry run leaves
// the prefix of the key out.
func Invalid(key string, dryRun bool, text string) string {
	if !dryRun {
		key = Key(key)
	}
	return message("invalid object", 4, key, text)
}

// Corrupt says that the object at a key cannot be read.
func Corrupt(key, text string) string { return message("corrupt object", 7, key, text) }

// Key returns the key with the prefix of the storage.
func Key(key string) string { return "/registry" + key }

// Unmet is the text of a precondition that does not hold: a field of the object, such as UID, is have and
// not want.
func Unmet(field, want, have string) string {
	return fmt.Sprintf("Precondition failed: %s in precondition: %v, %s in object meta: %v", field, want, field, have)
}

func message(what string, code int, key, text string) string {
	return fmt.Sprintf("StorageError: %s, Code: %d, Key: %s, ResourceVersion: 0, AdditionalErrorMsg: %s", what, code, key, text)
}
