package client

// shortener is an allowance that can leave out the rest of a JSON string, for one that is
// over the limit: its reader needs to see where it ends, and nothing else of it.
type shortener struct {
	*allowance
	cutting   bool
	finishing bool   // the escape sequence in which it begins
	escape    escape // where in the string the last byte was
	dropped   int64  // bytes left out so far
}

// shorten leaves out what follows of the string that begins with start, which ends within
// it. It returns false if start is not the beginning of a string.
func (s *shortener) shorten(start []byte) bool {
	if len(start) == 0 || start[0] != '"' {
		return false
	}
	s.escape = 0
	for _, c := range start[1:] {
		s.escape = s.escape.behind(c)
	}
	s.cutting, s.finishing = true, s.escape != 0
	return true
}

// Read implements io.Reader.
func (s *shortener) Read(p []byte) (int, error) {
	limit := s.left
	for s.cutting && len(p) > 0 {
		if s.finishing { // so that what was read before is well-formed
			n, err := s.allowance.Read(p[:1])
			if n > 0 {
				s.escape = s.escape.behind(p[0])
				s.finishing = s.escape != 0
			}
			return n, err
		}
		n, err := s.allowance.Read(p)
		s.left = limit
		end := s.cut(p[:n])
		s.dropped += int64(end)
		if n = copy(p, p[end:n]); n > 0 || err != nil {
			return n, err
		}
	}
	return s.allowance.Read(p)
}

// cut returns how much of p is still in the string. The rest begins with its closing
// quotation mark.
func (s *shortener) cut(p []byte) int {
	for i, c := range p {
		if c == '"' && s.escape == 0 {
			s.cutting = false
			return i
		}
		s.escape = s.escape.behind(c)
	}
	return len(p)
}

// escape says how much of an escape sequence was read: 0 outside of one, 1 behind the
// backslash, 2 behind \u, and up to 5.
type escape uint8

// behind is where the next byte leads to.
func (e escape) behind(c byte) escape {
	switch {
	case e == 0 && c != '\\', e == 1 && c != 'u', e == 5:
		return 0
	}
	return e + 1
}
