package render

import (
	"bufio"
	"context"
	"errors"
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

// Apply runs the filter over a document, any value that can be encoded as JSON, and writes what comes out: strings raw,
// everything else as JSON, one value a line (indented on a terminal). Nothing is written unless the filter ran to its end.
// Numbers that the filter passes on keep their digits.
func (f *Filter) Apply(ctx context.Context, w io.Writer, s Screen, doc any) error {
	p, err := part(doc)
	if err != nil {
		return err
	}
	value, err := p.value()
	if err != nil {
		return err
	}
	var found []any
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
		found = append(found, v)
	}
	out := bufio.NewWriterSize(w, outPiece)
	for _, v := range found {
		if err := writeValue(out, s, v); err != nil {
			return err
		}
	}
	return out.Flush()
}

func writeValue(out *bufio.Writer, s Screen, value any) (err error) {
	text, isText := value.(string)
	switch {
	case isText && s.Terminal:
		err = iostreams.WriteSanitized(out, text)
	case isText:
		_, err = out.WriteString(text)
	case s.Terminal:
		err = encodeValue(&indenter{w: out, terminal: true}, value)
	default:
		err = encodeValue(out, value)
	}
	if err != nil {
		return err
	}
	return out.WriteByte('\n')
}
