package decode

import (
	"io"
	"reflect"
	"sync"

	"github.com/fxamacker/cbor/v2"
	"github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"

	"github.com/kinform/kinform/internal/kubeproto"
)

// cborCodec decodes CBOR by the library and the rules of apimachinery, whose own decoder of typed
// objects cannot be called: it only takes types of a runtime.Scheme.
type cborCodec struct {
	mode   cbor.DecMode
	share  bool
	needs  func() map[reflect.Type]need // made with the first object: those of a Pod take 13 KB, and few servers send CBOR
	finish finisher                     // without needs
}

// NewCBORCodec makes the codec for objects of type t in CBOR. share allows it to share strings, and
// drop lets it drop managedFields.
func NewCBORCodec(t reflect.Type, share, drop bool) (Codec, error) {
	mode, err := cborMode()
	if err != nil {
		return nil, err
	}
	needs := sync.OnceValue(func() map[reflect.Type]need { return needsOf(t) })
	return &cborCodec{mode: mode, share: share, needs: needs, finish: finisher{drop: drop}}, nil
}

// cborMode returns the rules of an API server's clients. What JSON cannot express is an error, and
// unknown members of objects are ignored.
func cborMode() (cbor.DecMode, error) {
	var rejected []func(*cbor.SimpleValueRegistry) error
	for v := range 256 {
		if v < 20 || v == 23 || v > 31 { // all but false, true and null; 24 to 31 do not exist
			rejected = append(rejected, cbor.WithRejectedSimpleValue(cbor.SimpleValue(v)))
		}
	}
	simple, err := cbor.NewSimpleValueRegistryFromDefaults(rejected...)
	if err != nil {
		return nil, err
	}
	return cbor.DecOptions{
		BignumTag:                 cbor.BignumTagForbidden,
		BinaryUnmarshaler:         cbor.BinaryUnmarshalerNone,
		ByteStringExpectedFormat:  cbor.ByteStringExpectedBase64,
		ByteStringToString:        cbor.ByteStringToStringAllowedWithExpectedLaterEncoding,
		ByteStringToTime:          cbor.ByteStringToTimeAllowed,
		DefaultByteStringType:     reflect.TypeFor[string](),
		DefaultMapType:            reflect.TypeFor[map[string]any](),
		DupMapKey:                 cbor.DupMapKeyEnforcedAPF,
		FieldNameByteString:       cbor.FieldNameByteStringAllowed,
		FieldNameMatching:         cbor.FieldNameMatchingCaseSensitive,
		Inf:                       cbor.InfDecodeForbidden,
		IntDec:                    cbor.IntDecConvertSignedOrFail,
		JSONUnmarshalerTranscoder: transcoder{},
		MapKeyByteString:          cbor.MapKeyByteStringForbidden,
		MaxArrayElements:          1<<31 - 1, // the largest that the library takes: Weights is the limit
		MaxMapPairs:               1<<31 - 1,
		MaxNestedLevels:           maxDepth,
		NaN:                       cbor.NaNDecodeForbidden,
		SimpleValues:              simple,
		TextUnmarshaler:           cbor.TextUnmarshalerTextString,
		TimeTag:                   cbor.DecTagOptional,
		TimeTagToAny:              cbor.TimeTagToRFC3339Nano,
		UnrecognizedTagToAny:      cbor.UnrecognizedTagContentToAny,
	}.DecMode()
}

// transcoder lets the library call UnmarshalJSON of types without UnmarshalCBOR.
type transcoder struct{}

func (transcoder) Transcode(out io.Writer, in io.Reader) error {
	raw, err := io.ReadAll(in)
	if err == nil {
		raw, err = CBORToJSON(raw)
	}
	if err == nil {
		_, err = out.Write(raw)
	}
	return err
}

// Kind implements Codec.
func (c *cborCodec) Kind(raw []byte) byte {
	k, _ := cborOf(raw).Peek()
	return k
}

// Weigh implements Codec.
func (c *cborCodec) Weigh(w *Weights, raw []byte) error { return w.checkCBOR(raw) }

// Sharing implements Codec.
func (c *cborCodec) Sharing(strings *kubeproto.Strings) Codec {
	s := *c
	if s.share {
		s.finish.strings = strings
	}
	return &s
}

// Unmarshal implements Codec.
func (c *cborCodec) Unmarshal(raw []byte, v any) error {
	if err := c.mode.Unmarshal(raw, v); err != nil {
		return plainCBOR(err)
	}
	f := c.finish
	f.needs = c.needs()
	return f.value(reflect.ValueOf(v).Elem())
}

// UnmarshalExact implements Codec.
func (c *cborCodec) UnmarshalExact(raw []byte, v any) error { return c.Unmarshal(raw, v) }

// UnmarshalObject implements Codec.
func (c *cborCodec) UnmarshalObject(raw []byte) (map[string]any, error) {
	var m map[string]any
	err := c.Unmarshal(raw, &m)
	if meta, ok := m["metadata"].(map[string]any); ok && c.finish.drop {
		delete(meta, "managedFields")
	}
	return m, err
}

// WithoutManagedFields implements Codec. The other methods drop them from the decoded object.
func (c *cborCodec) WithoutManagedFields(raw []byte, _ *[]byte) []byte { return raw }

// Header implements Codec.
func (c *cborCodec) Header(raw []byte) Header { return cborHeader(raw) }

func cborHeader(raw []byte) (h Header) {
	_ = h.read(cborOf(raw)) // raw is well-formed
	return h
}

// plainCBOR returns an error of the library without its name.
func plainCBOR(err error) error { return &cborError{err} }

type cborError struct{ err error }

func (e *cborError) Error() string { return plainText(e.err) }
func (e *cborError) Unwrap() error { return e.err }

// DelimitCBOR returns the one value in body.
func DelimitCBOR(body []byte) ([]byte, error) {
	r := cborOf(body)
	raw, err := r.Object(nil)
	if err == io.EOF {
		return nil, io.ErrUnexpectedEOF
	}
	if err == nil && len(raw) < len(body) {
		err = r.malformed("more than one value")
	}
	return raw, err
}

// CBORToJSON returns the JSON of a body of one value, with sorted members. It returns a *FaultError
// if JSON cannot express the value. It does not limit the value's memory.
func CBORToJSON(body []byte) ([]byte, error) {
	raw, err := DelimitCBOR(body)
	if err != nil {
		return nil, err
	}
	return cborToJSON(raw)
}

func cborToJSON(raw []byte) ([]byte, error) {
	var v any
	if err := direct.Unmarshal(raw, &v); err != nil {
		return nil, &FaultError{plainCBOR(err)}
	}
	return json.Marshal(v, jsonv1.DefaultOptionsV1())
}
