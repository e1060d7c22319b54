package kubeproto

import (
	"encoding/binary"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The functions below write the wire format, by the specification and not by the decoder:
// https://protobuf.dev/programming-guides/encoding/

func tagBytes(num, wire int) []byte { return binary.AppendUvarint(nil, uint64(num)<<3|uint64(wire)) }

func numberField(num int, v uint64) []byte {
	return binary.AppendUvarint(tagBytes(num, 0), v)
}

func textField[S ~string | ~[]byte](num int, text S) []byte {
	return append(binary.AppendUvarint(tagBytes(num, 2), uint64(len(text))), text...)
}

func messageField(num int, fields ...[]byte) []byte { return textField(num, join(fields...)) }

func join(pieces ...[]byte) []byte {
	var all []byte
	for _, p := range pieces {
		all = append(all, p...)
	}
	return all
}

func mustCompile[T any](t testing.TB) *Plan {
	t.Helper()
	plan, err := Compile(typeOf[T]())
	if err != nil {
		t.Fatal(err)
	}
	return plan
}
