package informer

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/kinform/kinform/reflector"
)

// TestSumHasEveryCounter fills every field of the reflector's counters, those that are
// added later included, and looks at what becomes of it in the next run.
func TestSumHasEveryCounter(t *testing.T) {
	// What belongs to one list, or is counted by the source from run to run.
	present := map[string]bool{"Listed": true, "Expected": true, "Received": true, "Decoding": true}
	var past, now reflector.Stats
	fill(reflect.ValueOf(&past).Elem(), 3)
	fill(reflect.ValueOf(&now).Elem(), 4)
	past.LastRelists[0] = reflector.Relist{At: time.Unix(3, 0), Reason: "refused"}
	now.LastRelists[0] = reflector.Relist{At: time.Unix(4, 0), Reason: "expired"}
	got := reflect.ValueOf(sum(past, now))
	for n := range got.NumField() {
		name := got.Type().Field(n).Name
		want := uint64(7)
		if present[name] {
			want = 4
		}
		switch v := got.Field(n).Interface().(type) {
		case uint64:
			if v != want {
				t.Errorf("%s is %d, want %d", name, v, want)
			}
		case time.Duration:
			if uint64(v) != want {
				t.Errorf("%s is %d, want %d", name, v, want)
			}
		case reflector.Relists:
			for n := range reflect.TypeOf(v).NumField() {
				if r := reflect.ValueOf(v).Field(n).Uint(); r != want {
					t.Errorf("Relists.%s is %d, want %d", reflect.TypeOf(v).Field(n).Name, r, want)
				}
			}
		case string:
			if v != now.SeenVersion {
				t.Errorf("%s is %q, want the present one", name, v)
			}
		case time.Time:
			if !v.Equal(now.LastEvent) {
				t.Errorf("%s is %v, want the present one", name, v)
			}
		case [8]reflector.Relist:
			if v[0] != now.LastRelists[0] || v[1] != past.LastRelists[0] {
				t.Errorf("%s is %v, want the present ones before the past ones", name, v)
			}
		case nil: // an error
		case reflector.Failing:
			if v != now.Failing {
				t.Errorf("%s is %+v, want the present one", name, v)
			}
		case reflector.Polling:
			if v != now.Polling {
				t.Errorf("%s is %+v, want the present one", name, v)
			}
		default:
			t.Errorf("%s has a type that nobody thought of: %T", name, v)
		}
	}
	past.LastError = errors.New("past")
	began := sum(past, reflector.Stats{})
	if began.SeenVersion != past.SeenVersion || !began.LastEvent.Equal(past.LastEvent) || began.LastError != past.LastError || !began.LastErrorAt.Equal(past.LastErrorAt) {
		t.Errorf("a run that has seen nothing has forgotten what was seen before: %+v", began)
	}
}

// fill sets every number in the struct v to n, and what is none to something that n makes.
func fill(v reflect.Value, n uint64) {
	for f := range v.NumField() {
		switch field := v.Field(f); field.Kind() {
		case reflect.Uint64:
			field.SetUint(n)
		case reflect.Int64:
			field.SetInt(int64(n))
		case reflect.String:
			field.SetString(string(rune('0' + n)))
		case reflect.Struct:
			if field.Type() == reflect.TypeFor[time.Time]() {
				field.Set(reflect.ValueOf(time.Unix(int64(n), 0)))
			} else {
				fill(field, n)
			}
		}
	}
}
