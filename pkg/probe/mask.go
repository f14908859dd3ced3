package probe

import "reflect"

// masked returns a row without the secrets in its texts. That is done before anything else becomes of them: a report cuts and
// wraps its texts, and a secret in two pieces is not found any more.
func (t *Target) masked(r Result) Result {
	if t.Mask == nil {
		return r
	}
	for _, text := range []*string{&r.Title, &r.Message, &r.Detail, &r.Note, &r.Fix} {
		*text = t.Mask(*text)
	}
	r.Table, _ = reflect.TypeAssert[[][]string](maskedCopy(reflect.ValueOf(r.Table), t.Mask))
	r.Data, _ = reflect.TypeAssert[map[string]any](maskedCopy(reflect.ValueOf(r.Data), t.Mask))
	return r
}

// maskedCopy returns a value in which every text is masked, and shares none that is. Keys stay, and so do bytes, which are
// JSON: whoever keeps a definition masks it while it is read, as its numbers must not be touched.
func maskedCopy(v reflect.Value, mask func(string) string) reflect.Value {
	out := v
	switch v.Kind() {
	case reflect.String:
		out = reflect.New(v.Type()).Elem()
		out.SetString(mask(v.String()))
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return v
		}
		out = reflect.New(v.Type()).Elem()
		inner := maskedCopy(v.Elem(), mask)
		if v.Kind() == reflect.Pointer {
			out.Set(reflect.New(inner.Type()))
			out.Elem().Set(inner)
		} else {
			out.Set(inner)
		}
	case reflect.Slice:
		if v.IsNil() || v.Type().Elem().Kind() == reflect.Uint8 {
			return v
		}
		out = reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			out.Index(i).Set(maskedCopy(v.Index(i), mask))
		}
	case reflect.Map:
		if v.IsNil() {
			return v
		}
		out = reflect.MakeMapWithSize(v.Type(), v.Len())
		for key, value := range v.Seq2() {
			out.SetMapIndex(key, maskedCopy(value, mask))
		}
	case reflect.Struct:
		out = reflect.New(v.Type()).Elem()
		out.Set(v)
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out.Field(i).Set(maskedCopy(v.Field(i), mask))
			}
		}
	default: // numbers and the like hold no text
	}
	return out
}
