package manpage

import (
	"strings"
	"testing"
)

// TestWriteTo shows each shape that help has, and what becomes of it.
func TestWriteTo(t *testing.T) {
	t.Parallel()
	page := Page{
		Name: "x-y", Section: 7, Short: "A page", Date: "2026-01-02", Source: "x 1",
		Parts: []Part{
			{Title: "DESCRIPTION", Text: `A paragraph. It has
two lines, a back\slash and 'quotes'.
  key     meaning
  a, b    the first
  longer-than-the-column
          the second, which
          goes on

  -f, --flag      one
      --other A   another

  x: 1
    y: {z: "…"}

  code  class  what
  0     -      done

.Not a request.

  ` + strings.Repeat("w", 76) + "\n"},
			{Title: "More", Sub: true, Items: []Item{{"--it", "Explained."}}},
		},
	}
	var b strings.Builder
	if _, err := page.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	want := `.TH "X\-Y" 7 "2026-01-02" "x 1" "mcpctl manual"
.nh
.ad l
.SH NAME
x\-y \- A page
.SH "DESCRIPTION"
A paragraph.
It has two lines, a back\eslash and \(aqquotes\(aq.
.TP
\fBa, b\fP
the first
.TP
\fBlonger\-than\-the\-column\fP
the second, which goes on
.TP
\fB\-f, \-\-flag\fP
one
.TP
\fB\-\-other A\fP
another
.PP
.nf
x: 1
  y: {z: \(dq\[u2026]\(dq}
.fi
.PP
.nf
code  class  what
0     \-      done
.fi
.PP
\&.Not a request.
.PP
.in 2n
.nf
` + strings.Repeat("w", 76) + `
.fi
.in
.SS "More"
.TP
\fB\-\-it\fP
Explained.
`
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if name := page.FileName(); name != "x-y.7" {
		t.Error(name)
	}
}
