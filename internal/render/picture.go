package render

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"mime"
	"net/http"
	"strings"
)

// How pictures are shown
//
// A picture comes from a server that nobody has to trust. So it is decoded here first, within bounds on its bytes and
// pixels, and what goes to the terminal is made here: pixels that were encoded anew, or base64, in which no byte of the
// server's can end the sequence. The terminal is not asked for anything, and told not to answer.

// The protocols by which terminals show pictures.
const (
	// Kitty is the graphics protocol of kitty: https://sw.kovidgoyal.net/kitty/graphics-protocol.
	Kitty = "kitty"
	// ITerm is the inline images protocol of iTerm2: https://iterm2.com/documentation-images.html.
	ITerm = "iterm"
	// Sixel is the graphics of the VT340: https://vt100.net/docs/vt3xx-gp/chapter14.html.
	Sixel = "sixel"
)

// Pictures says how pictures are shown on a terminal. The zero value shows none.
type Pictures struct {
	// Protocol is one of the protocols, "" for none.
	Protocol string
	// Width and Height are how many pixels there are for a picture; a larger one is made smaller. 0 means no limit.
	Width, Height int
	// Rows are the lines that Height means.
	Rows int
	// Tmux is set when sequences have to pass through tmux, which takes them only in an envelope.
	Tmux bool
}

const (
	// mostPictureBytes bounds the file of a picture that is shown: the largest screenshot is a third of that.
	mostPictureBytes = 32 << 20
	// mostPixels bounds a picture before it is decoded, as a small file can hold a huge one: the pixels of a 5K screen,
	// for which a decoder takes some 200 MB at worst.
	mostPixels = 16 << 20
	// headBytes is how much of a file is read to find the size of its picture. Cameras put a preview before it.
	headBytes = 256 << 10
	// mostFileSent is how long a file may be that goes to iTerm2 as it is: base64 makes it a third longer, and a sequence
	// has to stay below a megabyte there.
	mostFileSent = 700 << 10
	// chunkBytes is how much base64 goes into one sequence of kitty's protocol at most.
	chunkBytes = 4096
)

// isPicture reports whether the server calls a block an image.
func (b *block) isPicture() bool {
	if b.encoded == nil {
		return false
	}
	base, _, err := mime.ParseMediaType(b.mimeType)
	return b.kind == "image" || err == nil && strings.HasPrefix(base, "image/")
}

// pixels returns the size of a picture, 0 if it cannot be told. Only the beginning of the file is decoded.
func (b *block) pixels() (width, height int) {
	if !b.isPicture() {
		return 0, 0
	}
	head, _ := io.ReadAll(io.LimitReader(b.data(), headBytes))
	c, err := pictureConfig(head)
	if err != nil {
		return 0, 0
	}
	return c.Width, c.Height
}

var errNoPicture = errors.New("not a PNG, JPEG or GIF picture")

// pictureConfig reads the size and the colours of a picture.
func pictureConfig(data []byte) (image.Config, error) {
	switch http.DetectContentType(data) {
	case "image/png":
		return png.DecodeConfig(bytes.NewReader(data))
	case "image/jpeg":
		return jpeg.DecodeConfig(bytes.NewReader(data))
	case "image/gif":
		return gif.DecodeConfig(bytes.NewReader(data))
	}
	return image.Config{}, errNoPicture
}

// decodePicture decodes a picture that is not too large.
func decodePicture(data []byte) (image.Image, error) {
	c, err := pictureConfig(data)
	if err != nil {
		return nil, err
	}
	most := mostPixels
	switch c.ColorModel {
	case color.RGBA64Model, color.NRGBA64Model, color.Gray16Model:
		most /= 2 // they take twice the memory
	}
	if c.Width <= 0 || c.Height <= 0 {
		return nil, errors.New("it has no pixels")
	}
	if c.Width > most/c.Height {
		return nil, errors.New("it is too large")
	}
	switch http.DetectContentType(data) {
	case "image/png":
		return png.Decode(bytes.NewReader(data))
	case "image/jpeg":
		return jpeg.Decode(bytes.NewReader(data))
	default:
		return gif.Decode(bytes.NewReader(data)) // the first of its frames
	}
}

// picture returns the sequences that show a block's picture, or why it cannot be shown.
func (b *block) picture(p Pictures) (sequence []byte, why string) {
	if b.length > mostPictureBytes {
		return nil, "it is too large"
	}
	data, err := b.readAll()
	if err != nil {
		return nil, "not valid base64"
	}
	img, err := decodePicture(data)
	switch {
	case errors.Is(err, errNoPicture):
		return nil, err.Error()
	case err != nil:
		return nil, OneLine(err.Error())
	}
	switch p.Protocol {
	case ITerm:
		return iterm(data, img, p), ""
	case Sixel:
		return sixel(fit(img, p.Width, p.Height)), "" // tmux knows sixels itself
	}
	encoded, err := encodePNG(fit(img, p.Width, p.Height))
	if err != nil {
		return nil, OneLine(err.Error())
	}
	return kitty(encoded, p), ""
}

// encodePNG encodes a picture for a terminal, where time is worth more than bytes.
func encodePNG(img image.Image) ([]byte, error) {
	var b bytes.Buffer
	err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, img)
	return b.Bytes(), err
}

// kitty transmits a PNG and shows it where the cursor is, in pieces. The terminal does not answer (q=2).
func kitty(file []byte, p Pictures) []byte {
	payload := base64.StdEncoding.EncodeToString(file)
	var b bytes.Buffer
	for first := true; first || payload != ""; first = false {
		piece := payload[:min(len(payload), chunkBytes)]
		payload = payload[len(piece):]
		keys := "q=2"
		if first {
			keys = "a=T,f=100,q=2"
		}
		more := 0
		if payload != "" {
			more = 1
		}
		b.WriteString(p.pass(fmt.Sprintf("\x1b_G%s,m=%d;%s\x1b\\", keys, more, piece)))
	}
	return b.Bytes()
}

// iterm shows a file as it is, if it is not too long for one sequence; its own size, or made smaller by the terminal.
func iterm(file []byte, img image.Image, p Pictures) []byte {
	if len(file) > mostFileSent {
		if smaller, err := encodePNG(fit(img, p.Width, p.Height)); err == nil {
			file = smaller
		}
	}
	keys := fmt.Sprintf("inline=1;size=%d", len(file))
	size := img.Bounds().Size()
	if width, height := within(size.X, size.Y, p.Width, p.Height); width != size.X || height != size.Y {
		// The side that limits it is given in the terminal's own measure, which knows how large its pixels are.
		if p.Rows > 0 && height == p.Height && width != p.Width {
			keys += fmt.Sprintf(";height=%d", p.Rows)
		} else {
			keys += ";width=100%"
		}
	}
	return []byte(p.pass("\x1b]1337;File=" + keys + ":" + base64.StdEncoding.EncodeToString(file) + "\a"))
}

// pass returns a sequence as the terminal behind tmux gets it, if there is one: with all its ESC doubled, in a control
// string of tmux's own. tmux hands it on if its option allow-passthrough is on.
func (p Pictures) pass(sequence string) string {
	if !p.Tmux {
		return sequence
	}
	return "\x1bPtmux;" + strings.ReplaceAll(sequence, "\x1b", "\x1b\x1b") + "\x1b\\"
}

// within returns the size of a picture that fits, with the same proportions; it is never made larger.
func within(width, height, mostWidth, mostHeight int) (w, h int) {
	w, h = width, height
	if mostWidth > 0 && w > mostWidth {
		w, h = mostWidth, max(1, height*mostWidth/width)
	}
	if mostHeight > 0 && h > mostHeight {
		w, h = max(1, width*mostHeight/height), mostHeight
	}
	return w, h
}

// fit returns a picture in a size that fits. Each pixel is the mean of those it stands for.
func fit(img image.Image, mostWidth, mostHeight int) *image.RGBA {
	from := img.Bounds()
	all := image.NewRGBA(image.Rect(0, 0, from.Dx(), from.Dy()))
	draw.Draw(all, all.Bounds(), img, from.Min, draw.Src)
	width, height := within(from.Dx(), from.Dy(), mostWidth, mostHeight)
	if width == from.Dx() && height == from.Dy() {
		return all
	}
	small := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		top, bottom := y*from.Dy()/height, max((y+1)*from.Dy()/height, y*from.Dy()/height+1)
		for x := range width {
			left, right := x*from.Dx()/width, max((x+1)*from.Dx()/width, x*from.Dx()/width+1)
			var sum [4]int
			for sy := top; sy < bottom; sy++ {
				row := all.Pix[sy*all.Stride+4*left : sy*all.Stride+4*right]
				for i, v := range row {
					sum[i%4] += int(v)
				}
			}
			n := (bottom - top) * (right - left)
			at := small.Pix[y*small.Stride+4*x:]
			for i, s := range sum {
				at[i] = uint8((s + n/2) / n) // the mean of bytes is one
			}
		}
	}
	return small
}
