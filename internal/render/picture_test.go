package render

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// gradient is a picture with more colours than there are registers, and a corner without any.
func gradient(width, height int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			img.SetNRGBA(x, y, color.NRGBA{uint8(255 * x / width), uint8(255 * y / height), uint8(255 * (x + y) / (width + height)), 255})
		}
	}
	img.SetNRGBA(0, 0, color.NRGBA{})
	return img
}

// stripes is a picture of three colours.
func stripes(width, height int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			img.SetNRGBA(x, y, []color.NRGBA{{255, 0, 0, 255}, {255, 255, 255, 255}, {0, 51, 255, 255}}[3*y/height])
		}
	}
	return img
}

func pngOf(t *testing.T, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// resultOf is a result with one image.
func resultOf(t *testing.T, file []byte, mimeType string) *Result {
	t.Helper()
	r, err := ParseResult(fmt.Appendf(nil, `{"content":[{"type":"image","mimeType":%q,"data":%q}]}`, mimeType, base64.StdEncoding.EncodeToString(file)))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestKitty(t *testing.T) {
	for _, img := range []image.Image{stripes(5, 4), gradient(90, 80)} {
		r := resultOf(t, pngOf(t, img), "image/png")
		out := written(t, r, Screen{Terminal: true, Pictures: Pictures{Protocol: Kitty, Width: 800, Height: 600}}, false)
		sequence, line, _ := strings.Cut(out, "\n")
		size := img.Bounds().Size()
		if !strings.HasPrefix(line, fmt.Sprintf("[image image/png, %dx%d, ", size.X, size.Y)) {
			t.Errorf("the line is %q", line)
		}
		got, pieces := readKitty(t, sequence)
		if want := (len(base64.StdEncoding.EncodeToString(got)) + chunkBytes - 1) / chunkBytes; pieces != want {
			t.Errorf("%d pieces, want %d", pieces, want)
		}
		wantSame(t, got, img)
	}
	// The bytes of a small one.
	out := written(t, resultOf(t, pngOf(t, stripes(1, 1)), "image/png"), Screen{Terminal: true, Pictures: Pictures{Protocol: Kitty}}, false)
	if !regexp.MustCompile(`^\x1b_Ga=T,f=100,q=2,m=0;iVBOR[A-Za-z0-9+/]+=*\x1b\\\n\[image image/png, 1x1, \d+ bytes; --save DIR saves it\]\n$`).MatchString(out) {
		t.Errorf("got %q", out)
	}
}

// readKitty reads what the kitty protocol transmits.
func readKitty(t *testing.T, sequence string) (file []byte, pieces int) {
	t.Helper()
	payload := ""
	for sequence != "" {
		m := regexp.MustCompile(`^\x1b_G([a-zA-Z0-9=,]*);([A-Za-z0-9+/=]*)\x1b\\`).FindStringSubmatch(sequence)
		if m == nil {
			t.Fatalf("not a sequence of kitty's: %.60q", sequence)
		}
		sequence = sequence[len(m[0]):]
		more := "m=1"
		if sequence == "" {
			more = "m=0"
		}
		want := "q=2," + more
		if pieces == 0 {
			want = "a=T,f=100," + want
		}
		if m[1] != want || len(m[2]) > 4096 || sequence != "" && len(m[2])%4 != 0 {
			t.Fatalf("piece %d: keys %s and %d characters, want %s", pieces, m[1], len(m[2]), want)
		}
		payload += m[2]
		pieces++
	}
	file, err := base64.StdEncoding.DecodeString(payload)
	if err != nil {
		t.Fatal(err)
	}
	return file, pieces
}

// wantSame decodes a file and compares its pixels.
func wantSame(t *testing.T, file []byte, want image.Image) {
	t.Helper()
	got, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if got.Bounds().Size() != want.Bounds().Size() {
		t.Fatalf("a picture of %v, want %v", got.Bounds(), want.Bounds())
	}
	for y := range want.Bounds().Dy() {
		for x := range want.Bounds().Dx() {
			a, b := color.NRGBAModel.Convert(got.At(x, y)), color.NRGBAModel.Convert(want.At(x, y))
			if a != b {
				t.Fatalf("pixel %d,%d is %v, want %v", x, y, a, b)
			}
		}
	}
}

func TestITerm(t *testing.T) {
	file := pngOf(t, stripes(30, 20))
	out := written(t, resultOf(t, file, "image/png"), Screen{Terminal: true, Pictures: Pictures{Protocol: ITerm, Width: 800, Height: 600, Rows: 20}}, false)
	want := fmt.Sprintf("\x1b]1337;File=inline=1;size=%d:%s\a\n[image image/png, 30x20, %d bytes; --save DIR saves it]\n", len(file), base64.StdEncoding.EncodeToString(file), len(file))
	if out != want {
		t.Errorf("got %q, want %q", out, want)
	}
	for size, keys := range map[[2]int]string{{900, 10}: ";width=100%", {10, 700}: ";height=20", {1600, 300}: ";width=100%", {1600, 1500}: ";height=20", {800, 600}: ""} {
		out := written(t, resultOf(t, pngOf(t, stripes(size[0], size[1])), "image/png"), Screen{Terminal: true, Pictures: Pictures{Protocol: ITerm, Width: 800, Height: 600, Rows: 20}}, false)
		if !regexp.MustCompile(`^\x1b\]1337;File=inline=1;size=\d+` + keys + `:`).MatchString(out) {
			t.Errorf("%v: %.80q, want %q", size, out, keys)
		}
	}
}

func TestSixel(t *testing.T) {
	small := written(t, resultOf(t, pngOf(t, stripes(5, 3)), "image/png"), Screen{Terminal: true, Pictures: Pictures{Protocol: Sixel, Width: 100, Height: 100}}, false)
	want := "\x1bP0;1q\"1;1;5;3#0;2;100;0;0#1;2;100;100;100#2;2;0;20;100#0!5@$#1!5A$#2!5C-\x1b\\\n[image image/png, 5x3, "
	if !strings.HasPrefix(small, want) {
		t.Errorf("got %q, want %q", small, want)
	}
	for _, img := range []*image.NRGBA{stripes(5, 3), stripes(64, 36), gradient(40, 31), gradient(1, 13)} {
		got := readSixel(t, string(sixel(fit(img, 0, 0))))
		worst := 0
		if len(img.Pix)/4 > mostColours {
			worst = 24 // there are fewer colours than pixels
		}
		for y := range img.Bounds().Dy() {
			for x := range img.Bounds().Dx() {
				a, b := got.NRGBAAt(x, y), img.NRGBAAt(x, y)
				if a.A != b.A || b.A != 0 && max(apart(a.R, b.R), apart(a.G, b.G), apart(a.B, b.B)) > 3+worst {
					t.Fatalf("%v: pixel %d,%d is %v, want %v", img.Bounds(), x, y, a, b)
				}
			}
		}
	}
}

func apart(a, b uint8) int { return max(int(a)-int(b), int(b)-int(a)) }

// readSixel draws a sequence of sixels.
func readSixel(t *testing.T, s string) *image.NRGBA {
	t.Helper()
	body, ok := strings.CutPrefix(s, "\x1bP0;1q\"1;1;")
	body, terminated := strings.CutSuffix(body, "\x1b\\")
	if !ok || !terminated {
		t.Fatalf("no sequence of sixels: %.60q", s)
	}
	pos := 0
	number := func() int {
		start := pos
		for pos < len(body) && body[pos] >= '0' && body[pos] <= '9' {
			pos++
		}
		n, err := strconv.Atoi(body[start:pos])
		if err != nil {
			t.Fatalf("no number at %d: %.40q", start, body[start:])
		}
		return n
	}
	numbers := func(n int) []int {
		var list []int
		for i := range n {
			if i > 0 {
				if body[pos] != ';' {
					t.Fatalf("no semicolon at %d", pos)
				}
				pos++
			}
			list = append(list, number())
		}
		return list
	}
	size := numbers(2)
	img := image.NewNRGBA(image.Rect(0, 0, size[0], size[1]))
	palette := map[int]color.NRGBA{}
	var current color.NRGBA
	x, top := 0, 0
	for pos < len(body) {
		repeat := 1
		switch body[pos] {
		case '#':
			pos++
			index := number()
			if pos < len(body) && body[pos] == ';' {
				pos++
				p := numbers(4)
				if p[0] != 2 || len(palette) >= 256 {
					t.Fatalf("colour %d: %v", index, p)
				}
				palette[index] = color.NRGBA{uint8(p[1] * 255 / 100), uint8(p[2] * 255 / 100), uint8(p[3] * 255 / 100), 255}
				continue
			}
			current, ok = palette[index]
			if !ok {
				t.Fatalf("no colour %d", index)
			}
			continue
		case '$':
			pos++
			x = 0
			continue
		case '-':
			pos++
			x, top = 0, top+6
			continue
		case '!':
			pos++
			repeat = number()
		}
		bits := body[pos] - '?'
		if bits > 63 {
			t.Fatalf("no sixel: %q", body[pos])
		}
		pos++
		for range repeat {
			for dy := range 6 {
				if bits>>dy&1 == 1 {
					if !image.Pt(x, top+dy).In(img.Bounds()) {
						t.Fatalf("a pixel outside: %d,%d", x, top+dy)
					}
					img.SetNRGBA(x, top+dy, current)
				}
			}
			x++
		}
	}
	return img
}

// A picture that is too large for the terminal is made smaller, with its proportions, and its colours are means.
func TestPicturesFit(t *testing.T) {
	for _, c := range []struct{ width, height, wantWidth, wantHeight int }{
		{100, 50, 100, 50}, {400, 100, 200, 50}, {100, 400, 25, 100}, {4000, 1, 200, 1}, {200, 100, 200, 100},
	} {
		got := fit(stripes(c.width, c.height), 200, 100)
		if got.Bounds().Dx() != c.wantWidth || got.Bounds().Dy() != c.wantHeight {
			t.Errorf("%+v: got %v", c, got.Bounds())
		}
	}
	img := image.NewNRGBA(image.Rect(10, 10, 12, 12)) // not at the origin
	for i, v := range []uint8{0, 100, 200, 100} {
		img.SetNRGBA(10+i%2, 10+i/2, color.NRGBA{v, v, v, 255})
	}
	if got := fit(img, 1, 1).RGBAAt(0, 0); got != (color.RGBA{100, 100, 100, 255}) {
		t.Errorf("the mean is %v", got)
	}
}

func TestOtherPictures(t *testing.T) {
	var asJPEG, asGIF bytes.Buffer
	if err := jpeg.Encode(&asJPEG, stripes(16, 8), nil); err != nil {
		t.Fatal(err)
	}
	if err := gif.Encode(&asGIF, stripes(16, 8), nil); err != nil {
		t.Fatal(err)
	}
	for _, file := range [][]byte{asJPEG.Bytes(), asGIF.Bytes()} {
		// What the server says of the type decides nothing.
		out := written(t, resultOf(t, file, "image/png"), Screen{Terminal: true, Pictures: Pictures{Protocol: Kitty}}, false)
		sequence, line, _ := strings.Cut(out, "\n")
		got, _ := readKitty(t, sequence)
		if c, err := png.DecodeConfig(bytes.NewReader(got)); err != nil || c.Width != 16 || c.Height != 8 || !strings.HasPrefix(line, "[image image/png, 16x8, ") {
			t.Errorf("%v, %v, %q", c, err, line)
		}
	}
}

// What is no picture, or too much of one, is a line that says why.
func TestWhatIsNotShown(t *testing.T) {
	cut := pngOf(t, gradient(64, 64))
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"not a picture", []byte("<svg onload='x'/>"), ", not shown here: not a PNG, JPEG or GIF picture"},
		{"a sequence", []byte("\x1b]52;c;eA==\a"), ", not shown here: not a PNG, JPEG or GIF picture"},
		{"cut short", cut[:len(cut)/2], ", not shown here: png: invalid format: not enough pixel data"},
		{"nothing", nil, ", not shown here: not a PNG, JPEG or GIF picture"},
		{"too large", sized(t, 100_000, 100_000), ", not shown here: it is too large"},
	} {
		for _, protocol := range []string{Kitty, ITerm, Sixel} {
			out := written(t, resultOf(t, c.file, "image/png"), Screen{Terminal: true, Pictures: Pictures{Protocol: protocol}}, false)
			if strings.Contains(out, "\x1b") || !strings.Contains(out, c.want+"; --save DIR saves it]\n") {
				t.Errorf("%s, %s: %q", c.name, protocol, out)
			}
		}
	}
}

// sized returns the header of a picture without a pixel in it.
func sized(t *testing.T, width, height uint32) []byte {
	t.Helper()
	file := pngOf(t, stripes(2, 2))
	head := []byte("IHDR")
	for _, n := range []uint32{width, height} {
		head = append(head, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	}
	head = append(head, file[24:29]...)
	sum := crc32.ChecksumIEEE(head)
	copy(file[12:], head)
	copy(file[29:], []byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
	return file
}

// Pictures are for terminals that can show them, and for nothing else.
func TestPicturesOnlyWhereTheyCanBeShown(t *testing.T) {
	r := resultOf(t, pngOf(t, stripes(2, 2)), "image/png")
	for _, s := range []Screen{{}, {Terminal: true}, {Pictures: Pictures{Protocol: Kitty}}, {Colour: true}} {
		if out := written(t, r, s, false); strings.Contains(out, "\x1b") {
			t.Errorf("%+v: %q", s, out)
		}
	}
}

func TestPicturesThroughTmux(t *testing.T) {
	file := pngOf(t, stripes(1, 1))
	out := written(t, resultOf(t, file, "image/png"), Screen{Terminal: true, Pictures: Pictures{Protocol: ITerm, Tmux: true}}, false)
	want := "\x1bPtmux;\x1b\x1b]1337;File=inline=1;size=" + strconv.Itoa(len(file)) + ":" + base64.StdEncoding.EncodeToString(file) + "\a\x1b\\\n"
	if !strings.HasPrefix(out, want) {
		t.Errorf("got %q, want %q", out, want)
	}
}

// FuzzPicture shows that no file makes a decoder panic, or gets a byte of its own to the terminal.
func FuzzPicture(f *testing.F) {
	for _, img := range []image.Image{stripes(3, 3), gradient(20, 20)} {
		var b bytes.Buffer
		if png.Encode(&b, img) == nil {
			f.Add(b.Bytes())
		}
		b.Reset()
		if jpeg.Encode(&b, img, nil) == nil {
			f.Add(b.Bytes())
		}
		b.Reset()
		if gif.Encode(&b, img, nil) == nil {
			f.Add(b.Bytes())
		}
	}
	allowed := regexp.MustCompile(`^(\x1bP0;1q[!-~]*\x1b\\\n)?\[image image/png[^\x00-\x1f\x7f]*\]\n$`)
	f.Fuzz(func(t *testing.T, file []byte) {
		out := written(t, resultOf(t, file, "image/png"), Screen{Terminal: true, Pictures: Pictures{Protocol: Sixel, Width: 40, Height: 40}}, false)
		if !allowed.MatchString(out) {
			t.Errorf("got %q", out)
		}
	})
}
