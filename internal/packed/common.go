package packed

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/klauspost/compress/s2"
)

// common leaves out of objects' bytes what they have in common with a dictionary: a sample of the objects packed before.
// It is safe for concurrent use. The zero value has no dictionary yet.
//
// Bytes name their dictionary by their first byte, and dictionaries never go, because snapshots and pending events have
// bytes of old ones. So there must be few, and there are: a new one is made when twice as much has been packed as for the
// last, and used if it then saves more memory than it takes until the next one can come. It takes up to 96 KB, and has
// parts of objects that may be gone.
type common struct {
	all     atomic.Pointer[[]*s2.Dict] // by number
	scratch sync.Pool                  // of *[]byte

	mu sync.Mutex
	learner
}

const (
	// compacted marks the first byte of what a dictionary is needed for. The rest of that byte is its number. The first
	// bytes of other objects are less.
	compacted = 0x80

	firstSample = 8 << 10
	fullSample  = 64 << 10 // what a reference can reach
	// sampling is the share of a span's bytes that become the sample. At that share a dictionary is 1/16 of what it was
	// made of, and the first one comes after 128 KB, the next after a megabyte more.
	sampling = 16
	// encoderTable is what a dictionary takes beside its bytes.
	encoderTable = 32 << 10
	// largest is the size of the largest objects that are compacted. No API server has larger ones.
	largest = 4 << 20
	// tried is the number of objects by which a new dictionary is judged.
	tried = 32
)

// learner makes dictionaries.
type learner struct {
	made   int // dictionaries made so far, used or not
	span   int // bytes packed since the last one was made
	stride int // how many bytes are packed for one of the sample
	sample []byte

	trial trial
}

// trial judges a dictionary.
type trial struct {
	dict  *s2.Dict // nil while there is none to judge
	after int      // bytes that will have been packed until the next one can be made
	left  int      // objects to go
	plain int      // bytes of those so far, in three forms
	old   int
	new   int
}

// list returns the dictionaries so far.
func (c *common) list() []*s2.Dict {
	if all := c.all.Load(); all != nil {
		return *all
	}
	return nil
}

// without returns plain without what a dictionary has, or plain itself if that is shorter.
func (c *common) without(plain string) string {
	if len(plain) > largest {
		return plain
	}
	all, out := c.list(), plain
	if n := len(all); n > 0 {
		out = c.compact(plain, all[n-1], n-1)
	}
	c.learn(plain, len(out))
	return out
}

// compact returns plain without what dict has, which has a number, or plain itself if that is shorter.
func (c *common) compact(plain string, dict *s2.Dict, number int) string {
	buf := c.buffer(len(plain))
	defer c.scratch.Put(buf)
	data := dict.Encode((*buf)[1:], bytesOf(plain))
	if 1+len(data) >= len(plain) {
		return plain
	}
	(*buf)[0] = compacted | byte(number)
	return string((*buf)[:1+len(data)])
}

// with returns the plain bytes again.
func (c *common) with(bytes string) (string, error) {
	if bytes == "" {
		return "", io.ErrUnexpectedEOF
	}
	if bytes[0] < compacted {
		return bytes, nil
	}
	all, n := c.list(), int(bytes[0]&^compacted)
	if n >= len(all) {
		return "", errors.New("there is no such dictionary")
	}
	data := bytesOf(bytes[1:])
	if size, err := s2.DecodedLen(data); err != nil || size > largest {
		return "", s2.ErrCorrupt
	}
	plain, err := all[n].Decode(nil, data)
	return unsafe.String(unsafe.SliceData(plain), len(plain)), err
}

// same reports whether two objects' bytes are the same but for the dictionary. What one dictionary makes of equal bytes
// is equal.
func (c *common) same(a, b string) bool {
	switch {
	case a == "" || b == "":
		return false
	case a[0] == b[0]:
		return a == b
	}
	plain, err := c.with(a)
	if err != nil {
		return false
	}
	other, err := c.with(b)
	return err == nil && plain == other
}

// buffer returns a buffer for a byte and what Encode makes of n bytes.
func (c *common) buffer(n int) *[]byte {
	buf, _ := c.scratch.Get().(*[]byte)
	if buf == nil {
		buf = new([]byte)
	}
	if room := 1 + s2.MaxEncodedLen(n); len(*buf) < room {
		*buf = make([]byte, room)
	}
	return buf
}

// learn samples an object's bytes, of which so many are kept.
func (c *common) learn(plain string, kept int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.trial.dict != nil {
		c.try(plain, kept)
	}
	c.span += len(plain)
	most := fullSample
	if c.made == 0 {
		most, c.stride = firstSample, sampling
	}
	if len(c.sample)*c.stride < c.span {
		c.sample = append(c.sample, plain[:min(len(plain), most-len(c.sample))]...)
	}
	if len(c.sample) < most || c.span < most*c.stride {
		return
	}
	if c.made > 0 {
		c.stride *= 2
	}
	c.made++
	c.trial = trial{dict: s2.MakeDict(c.sample, nil), after: fullSample * c.stride, left: tried}
	c.sample, c.span = nil, 0
}

// try goes on with the trial. Called with mu held.
func (c *common) try(plain string, kept int) {
	t := &c.trial
	all := c.list()
	t.plain += len(plain)
	t.old += kept
	t.new += len(c.compact(plain, t.dict, len(all)))
	if t.left--; t.left > 0 {
		return
	}
	saved := float64(t.old-t.new) / float64(t.plain) * float64(t.after)
	if saved > float64(len(t.dict.Bytes())+encoderTable) && len(all) < compacted {
		all = append(all[:len(all):len(all)], t.dict)
		c.all.Store(&all)
	}
	c.trial = trial{}
}

// bytesOf returns the bytes of text, which must not change.
func bytesOf(text string) []byte { return unsafe.Slice(unsafe.StringData(text), len(text)) }
