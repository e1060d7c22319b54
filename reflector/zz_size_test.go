package reflector

import (
	"fmt"
	"reflect"
	"testing"
)

func show(t reflect.Type, depth int, name string) {
	fmt.Printf("%*s%-30s %5d %s\n", depth*2, "", name, t.Size(), t)
	if t.Kind() == reflect.Struct && t.Size() > 64 && depth < 5 {
		for f := range t.NumField() {
			if t.Field(f).Type.Size() >= 16 {
				show(t.Field(f).Type, depth+1, t.Field(f).Name)
			}
		}
	}
}

func TestZZ(t *testing.T) {
	show(reflect.TypeFor[Reflector[*int]](), 0, "Reflector")
	show(reflect.TypeFor[watch](), 0, "watch")
	show(reflect.TypeFor[Breaker](), 0, "Breaker")
	show(reflect.TypeFor[watchdog](), 0, "watchdog")
	show(reflect.TypeFor[Attempt](), 0, "Attempt")
}
