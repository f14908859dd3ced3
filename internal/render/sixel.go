package render

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"slices"
	"strconv"
)

// mostColours is how many colours a picture in sixels has: terminals have as many registers.
const mostColours = 256

// sixel returns a picture as a sequence of sixels: bands of six lines, in each the colours one after another, and for each
// of them a character a column that says which of the six pixels have it. A pixel that is more than half transparent stays
// as the terminal has it.
func sixel(img *image.RGBA) []byte {
	width, height := img.Bounds().Dx(), img.Bounds().Dy()
	palette, pixels := quantise(img)
	var b bytes.Buffer
	// P2=1 leaves alone what is not drawn; then the proportions of a pixel, and the size.
	fmt.Fprintf(&b, "\x1bP0;1q\"1;1;%d;%d", width, height)
	percent := func(v uint8) int { return (int(v)*100 + 127) / 255 }
	for i, c := range palette {
		fmt.Fprintf(&b, "#%d;2;%d;%d;%d", i, percent(c.R), percent(c.G), percent(c.B))
	}
	bits := make([]byte, len(palette)*width)
	used := make([]bool, len(palette))
	for top := 0; top < height; top += 6 {
		clear(bits)
		clear(used)
		for dy := range min(6, height-top) {
			for x, c := range pixels[(top+dy)*width : (top+dy+1)*width] {
				if c >= 0 {
					used[c] = true
					bits[int(c)*width+x] |= 1 << dy
				}
			}
		}
		first := true
		for c := range palette {
			if !used[c] {
				continue
			}
			if !first {
				b.WriteByte('$') // back to the left edge
			}
			first = false
			fmt.Fprintf(&b, "#%d", c)
			writeSixels(&b, bits[c*width:(c+1)*width])
		}
		b.WriteByte('-') // the next band
	}
	b.WriteString("\x1b\\")
	return b.Bytes()
}

// writeSixels writes one colour of a band, with repetitions counted and nothing written for an empty end.
func writeSixels(b *bytes.Buffer, columns []byte) {
	for len(columns) > 0 && columns[len(columns)-1] == 0 {
		columns = columns[:len(columns)-1]
	}
	for len(columns) > 0 {
		n := 1
		for n < len(columns) && columns[n] == columns[0] {
			n++
		}
		char := '?' + columns[0]
		if n > 3 { // a count takes three characters at least
			b.WriteString("!" + strconv.Itoa(n))
			b.WriteByte(char)
		} else {
			b.Write(bytes.Repeat([]byte{char}, n))
		}
		columns = columns[n:]
	}
}

// transparent is the index of a pixel that has no colour.
const transparent = -1

// quantise returns at most mostColours colours and the index of each pixel's. A picture that has no more keeps them as they
// are. Else the colours, thinned to five bits each, are cut in two at their median, and again, always the part that has
// the most to tell apart, and each part becomes its mean.
func quantise(img *image.RGBA) (palette []color.RGBA, pixels []int16) {
	width, height := img.Bounds().Dx(), img.Bounds().Dy()
	colours := make([]color.RGBA, 0, width*height)
	for y := range height {
		for i := y * img.Stride; i < y*img.Stride+4*width; i += 4 {
			colours = append(colours, plainColour(img.Pix[i:i+4]))
		}
	}
	pixels = make([]int16, len(colours))
	exact := map[color.RGBA]int16{}
	for i, c := range colours {
		if c.A == 0 {
			pixels[i] = transparent
			continue
		}
		index, ok := exact[c]
		if !ok {
			if len(palette) == mostColours {
				return reduce(colours, pixels)
			}
			index = int16(len(palette)) // below mostColours
			exact[c] = index
			palette = append(palette, c)
		}
		pixels[i] = index
	}
	return palette, pixels
}

// plainColour returns the colour of a pixel without its transparency, or no colour if that is more than half.
func plainColour(p []uint8) color.RGBA {
	a := int(p[3])
	if a < 128 {
		return color.RGBA{}
	}
	full := func(v uint8) uint8 { return uint8(min(255, (int(v)*255+a/2)/a)) }
	return color.RGBA{full(p[0]), full(p[1]), full(p[2]), 255}
}

// shade is a colour of five bits each, with the pixels that have it.
type shade struct {
	key   [3]int // red, green, blue
	sum   [3]int
	count int
}

func shadeOf(c color.RGBA) int { return int(c.R>>3)<<10 | int(c.G>>3)<<5 | int(c.B>>3) }

func reduce(colours []color.RGBA, pixels []int16) ([]color.RGBA, []int16) {
	table := make([]shade, 1<<15)
	for _, c := range colours {
		if c.A == 0 {
			continue
		}
		s := &table[shadeOf(c)]
		s.key = [3]int{int(c.R >> 3), int(c.G >> 3), int(c.B >> 3)}
		s.sum[0] += int(c.R)
		s.sum[1] += int(c.G)
		s.sum[2] += int(c.B)
		s.count++
	}
	parts := [][]shade{slices.DeleteFunc(table, func(s shade) bool { return s.count == 0 })}
	for len(parts) < mostColours {
		best, weight, channel := -1, 0, 0
		for i, part := range parts {
			if c, w := spread(part); w > weight {
				best, weight, channel = i, w, c
			}
		}
		if best < 0 { // every part is one shade
			break
		}
		low, high := split(parts[best], channel)
		parts[best] = low
		parts = append(parts, high)
	}
	palette := make([]color.RGBA, len(parts))
	index := make([]int16, 1<<15)
	for i, part := range parts {
		var sum [3]int
		n := 0
		for _, s := range part {
			for c := range sum {
				sum[c] += s.sum[c]
			}
			n += s.count
			index[s.key[0]<<10|s.key[1]<<5|s.key[2]] = int16(i)
		}
		palette[i] = color.RGBA{uint8(sum[0] / n), uint8(sum[1] / n), uint8(sum[2] / n), 255} // means of bytes
	}
	for i, c := range colours {
		pixels[i] = transparent
		if c.A != 0 {
			pixels[i] = index[shadeOf(c)]
		}
	}
	return palette, pixels
}

// spread returns the channel in which shades differ most, and how much there is to gain from telling them apart.
func spread(part []shade) (channel, weight int) {
	low, high := part[0].key, part[0].key
	n := 0
	for _, s := range part {
		for c, v := range s.key {
			low[c], high[c] = min(low[c], v), max(high[c], v)
		}
		n += s.count
	}
	widest := 0
	for c := range low {
		if high[c]-low[c] > widest {
			channel, widest = c, high[c]-low[c]
		}
	}
	return channel, widest * n
}

// split cuts shades in two, so that about half of the pixels are on each side.
func split(part []shade, channel int) (low, high []shade) {
	slices.SortFunc(part, func(a, b shade) int { return a.key[channel] - b.key[channel] })
	n := 0
	for _, s := range part {
		n += s.count
	}
	at, before := 1, part[0].count
	for at < len(part)-1 && before < n/2 {
		before += part[at].count
		at++
	}
	return part[:at:at], part[at:]
}
