package render

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/itchyny/gojq"

	"github.com/mcpctl/mcpctl/internal/iostreams"
)

// Filter is a compiled jq expression.
type Filter struct{ code *gojq.Code }

// CompileFilter compiles a jq expression. It has neither the environment nor further inputs nor files.
func CompileFilter(expression string) (*Filter, error) {
	query, err := gojq.Parse(expression)
	if err != nil {
		return nil, err
	}
	code, err := gojq.Compile(query)
	if err != nil {
		return nil, err
	}
	return &Filter{code}, nil
}

// Apply runs the filter over a document and writes what comes out: strings raw, everything else as JSON, one value a
// line (indented on a terminal). Nothing is written unless the filter ran to its end. Numbers that the filter passes
// on keep their digits.
func (f *Filter) Apply(ctx context.Context, w io.Writer, s Screen, doc []byte) error {
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return err
	}
	var out bytes.Buffer
	for iter := f.code.RunWithContext(ctx, value); ; {
		v, ok := iter.Next()
		if !ok {
			break
		}
		if err, failed := v.(error); failed {
			var halt *gojq.HaltError
			if errors.As(err, &halt) && halt.Value() == nil {
				break
			}
			return err
		}
		if err := writeValue(&out, s, v); err != nil {
			return err
		}
	}
	_, err := out.WriteTo(w)
	return err
}

func writeValue(out *bytes.Buffer, s Screen, value any) error {
	if text, ok := value.(string); ok {
		if s.Terminal {
			text = iostreams.Sanitize(text)
		}
		out.WriteString(text + "\n")
		return nil
	}
	doc, err := gojq.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	if s.Terminal {
		if err := json.Indent(out, escapeFormat(doc), "", "  "); err != nil {
			return fmt.Errorf("encode: %w", err)
		}
	} else {
		out.Write(doc)
	}
	out.WriteByte('\n')
	return nil
}
