package decode

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// randomJSON writes a value that nests up to depth, with space anywhere.
func randomJSON(rng *rand.Rand, b *strings.Builder, depth int) {
	texts := []string{`""`, `"a"`, `"\""`, `"\\"`, `"\\\""`, `"{[,:"`, `"é\u00e9\n"`, "0", "-1.5e3", "true", "null"}
	space := func() { b.WriteString(strings.Repeat(" ", rng.Intn(2))) }
	space()
	defer space()
	n := rng.Intn(4)
	switch kind := rng.Intn(3); {
	case depth == 0 || kind == 0:
		b.WriteString(texts[rng.Intn(len(texts))])
	case kind == 1:
		b.WriteByte('[')
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			randomJSON(rng, b, depth-1)
		}
		b.WriteByte(']')
	default:
		b.WriteByte('{')
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(` "a\"b" :`)
			randomJSON(rng, b, depth-1)
		}
		b.WriteByte('}')
	}
}

// Values of a stream come out as they went in, however reads are cut, and what is over the
// limit is passed over.
func TestValuesOfAStream(t *testing.T) {
	for seed := range int64(300) {
		rng := rand.New(rand.NewSource(seed))
		var values []string
		var body strings.Builder
		for range 20 {
			var b strings.Builder
			randomJSON(rng, &b, 4)
			values = append(values, strings.TrimSpace(b.String()))
			body.WriteString(values[len(values)-1] + "\n")
		}
		limit := int64(rng.Intn(200))
		for _, in := range []io.Reader{strings.NewReader(body.String()), iotest.OneByteReader(strings.NewReader(body.String())), iotest.DataErrReader(strings.NewReader(body.String()))} {
			r := NewJSON(in, limit)
			for i, want := range values {
				if i%5 == 4 {
					if err := r.Skip(); err != nil {
						t.Fatal(seed, err)
					}
					continue
				}
				got, err := r.Value()
				if large := int64(len(want)) > limit; large != (err == ErrOverLimit) || !large && (err != nil || string(got) != want) {
					t.Fatalf("seed %d, limit %d: %q, want %q: %v", seed, limit, got, want, err)
				}
			}
			if _, err := r.Peek(); err != io.EOF {
				t.Fatal(seed, err)
			}
			if got, want := r.Offset(), int64(body.Len()); got != want {
				t.Fatal(seed, got, want)
			}
		}
	}
}

// The reader finds the same values as encoding/json.
func TestSyntaxOfValues(t *testing.T) {
	for _, text := range []string{
		`{}`, `{"a":1}`, `{"a" 1}`, `{"a"}`, `{"a":1,}`, `{,}`, `[1,]`, `[1 2]`, `[,]`, `[}`, `{]`, `[1}`, `]`, `}`, `,`, `:`, `tru`, `true`, `nul`, `-`, `01`,
		`1.`, `"a`, `"\x"`, `"\`, `{"a":{"b":[{}]}}`, `{"a":{"b":[{}}}`, "\"\n\"", `'a'`, `{a:1}`, `[1`, `[`, `{`, `{"a":`, `x`, `<html>`, "\x00",
	} {
		err := NewJSON(strings.NewReader(text), 1000).Skip()
		if valid := json.Valid([]byte(text)); valid != (err == nil) {
			t.Errorf("%s: %v", text, err)
		}
		if early := errors.Is(err, io.ErrUnexpectedEOF); early && IsForeign(err) {
			t.Errorf("%s: an early end is foreign: %v", text, err)
		}
	}
}

// An object over the limit is known by its header, wherever in it that is.
func TestHeaderOfALargeObject(t *testing.T) {
	for _, text := range []string{
		`{"apiVersion":"v1","kind":"A","metadata":{"name":"n","x":"@","namespace":"ns","resourceVersion":"7"}}`,
		`{"x":["@",{"kind":"B","metadata":{"name":"m"}}],"metadata":{"resourceVersion":"7","namespace":"ns","name":"n"},"kind":"A","apiVersion":"v1"}`,
	} {
		body := strings.ReplaceAll(text, "@", strings.Repeat(`\"`, 10_000))
		raw, err := NewJSON(iotest.HalfReader(strings.NewReader(body+"[]")), 100).Value()
		h := ScanStart(raw)
		if err != ErrOverLimit || h.Kind != "A" || h.APIVersion != "v1" || h.Metadata.Name != "n" || h.Metadata.Namespace != "ns" || h.Metadata.ResourceVersion != "7" {
			t.Errorf("%s: %+v, %v", raw, h, err)
		}
	}
}

// The held memory grows with the received bytes, and no further than the limit needs.
func TestBufferIsBounded(t *testing.T) {
	const limit = 100_000
	body := bytes.Repeat([]byte(`"`+strings.Repeat("x", 5*limit)+`" [1,2] `), 10)
	r := &Reader{input: newInput(bytes.NewReader(body), limit)}
	for {
		_, err := r.Value()
		if err == io.EOF {
			break
		}
		if err != nil && err != ErrOverLimit {
			t.Fatal(err)
		}
		if cap(r.buf) > limit+2*inputRoom {
			t.Fatalf("%d bytes are held", cap(r.buf))
		}
	}
}

// bursts yields one of its texts a read, as long as the reader has room for it.
type bursts []string

func (b *bursts) Read(p []byte) (int, error) {
	if len(*b) == 0 {
		return 0, io.EOF
	}
	n := copy(p, (*b)[0])
	if (*b)[0] = (*b)[0][n:]; (*b)[0] == "" {
		*b = (*b)[1:]
	}
	return n, nil
}

// counted counts the reads.
type counted struct {
	r io.Reader
	n int
}

func (c *counted) Read(p []byte) (int, error) {
	c.n++
	return c.r.Read(p)
}

// TestBufferFitsTheStream: it grows while much comes at once, and is small again after little has
// come for some time, whether or not reads end between values.
func TestBufferFitsTheStream(t *testing.T) {
	for _, bytes := range []int{100, 300, 900, 3000} {
		value := `"` + strings.Repeat("x", bytes) + `"` + "\n"
		reads := &counted{r: strings.NewReader(strings.Repeat(value, 4<<20/len(value)))}
		r := &Reader{input: newInput(reads, Unlimited)}
		for {
			if _, err := r.Value(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if most := 2 * (4 << 20) / inputRush; reads.n > most {
			t.Errorf("%d reads of values of %d bytes, want at most %d", reads.n, bytes, most)
		}
	}
	value := `"` + strings.Repeat("x", 3000) + `"` + "\n"
	for little, most := range map[string]int{"[1]\n": inputWait, value: inputRoom} {
		stream := append(bursts{strings.Repeat(value, 100)}, slices.Repeat(bursts{little}, 4*inputIdle)...)
		r := &Reader{input: newInput(&stream, Unlimited)}
		for i := range 100 + 4*inputIdle {
			want := value
			if i >= 100 {
				want = little
			}
			got, err := r.Value()
			if err != nil || string(got)+"\n" != want {
				t.Fatalf("value %d: %.20q, %v", i, got, err)
			}
			if i == 60 && cap(r.buf) < inputRush {
				t.Errorf("%d bytes while much comes", cap(r.buf))
			}
		}
		if cap(r.buf) > most {
			t.Errorf("%d bytes after little came, want at most %d", cap(r.buf), most)
		}
		if first := newInput(&bursts{little}, Unlimited); first.fill() != nil || cap(first.buf) > inputWait {
			t.Errorf("%d bytes at the beginning", cap(first.buf))
		}
	}
	const limit = 1000
	r := &Reader{input: newInput(strings.NewReader(strings.Repeat(`"x" `, inputRush)), limit)}
	for {
		if _, err := r.Value(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if cap(r.buf) > limit+2*inputRoom {
		t.Errorf("%d bytes for small values", cap(r.buf))
	}
}

// TestReadyJSON: a value was read ahead if its newline was, or if so much was that the rest is on
// its way.
func TestReadyJSON(t *testing.T) {
	long := `"` + strings.Repeat("x", inputRoom) + `"`
	for rest, want := range map[string]bool{
		"": false, "\n": false, "\n\n  ": false, "\n{}": false, "\n{}\n": true, "\n\n{\"a\":1}\n{": true, "\n" + long: true, long[:100]: false,
	} {
		r := NewJSON(strings.NewReader(`"`+strings.Repeat("y", 2*inputRoom)+`"`+rest), 3*inputRoom) // the first value makes the buffer large
		if _, err := r.Value(); err != nil {
			t.Fatal(err)
		}
		if got := r.Ready(); got != want {
			t.Errorf("before %.20q: %t", rest, got)
		}
	}
}
