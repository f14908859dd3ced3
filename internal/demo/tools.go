package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"image"
	"image/color"
	"image/png"
	"log/slog"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func addTools(s *mcp.Server, logger *slog.Logger, kept *notes) {
	mcp.AddTool(s, &mcp.Tool{
		Name:        "echo",
		Title:       "Echo",
		Description: "Return the message unchanged.",
		Annotations: repeatable(),
	}, echo)
	mcp.AddTool(s, &mcp.Tool{
		Name:        "add",
		Title:       "Add",
		Description: "Add two numbers exactly, however many digits they have.",
		Annotations: repeatable(),
	}, add)
	mcp.AddTool(s, &mcp.Tool{
		Name:        "slow",
		Title:       "Slow",
		Description: "Wait, telling progress, then answer. Stops when the call is cancelled.",
		Annotations: repeatable(),
		InputSchema: slowSchema(),
	}, slow(logger))
	mcp.AddTool(s, &mcp.Tool{
		Name:        "fail",
		Title:       "Fail",
		Description: "Return an error, always.",
		Annotations: repeatable(),
	}, fail)
	mcp.AddTool(s, &mcp.Tool{
		Name:        "weather",
		Title:       "Weather",
		Description: "Return the made-up weather of a city, always the same for the same city, as structured data.",
		Annotations: repeatable(),
	}, weather)
	mcp.AddTool(s, &mcp.Tool{
		Name:        "picture",
		Title:       "Picture",
		Description: "Return a small PNG picture.",
		Annotations: repeatable(),
	}, picture)
	mcp.AddTool(s, &mcp.Tool{
		Name:        "note",
		Title:       "Take a note",
		Description: "Keep a note in memory until the server ends. Each call adds one; read them at demo://notes/{number}.",
		Annotations: &mcp.ToolAnnotations{
			ReadOnlyHint:    false,
			IdempotentHint:  false,
			DestructiveHint: new(false),
			OpenWorldHint:   new(false),
		},
	}, takeNote(kept))
}

// repeatable are the annotations of a tool that changes nothing and touches nothing outside.
func repeatable() *mcp.ToolAnnotations {
	return &mcp.ToolAnnotations{
		ReadOnlyHint:    true,
		IdempotentHint:  true,
		DestructiveHint: new(false),
		OpenWorldHint:   new(false),
	}
}

// textResult is the result of a call that answers with one text.
func textResult(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

type echoInput struct {
	Message string `json:"message" jsonschema:"the text to return"`
}

func echo(_ context.Context, _ *mcp.CallToolRequest, in echoInput) (*mcp.CallToolResult, any, error) {
	return textResult(in.Message), nil, nil
}

// addInput serves to infer the schema and to check the arguments. The numbers themselves are read again by
// [exactNumbers], because these have lost digits.
type addInput struct {
	A float64 `json:"a" jsonschema:"the first number"`
	B float64 `json:"b" jsonschema:"the second number"`
}

func add(_ context.Context, req *mcp.CallToolRequest, _ addInput) (*mcp.CallToolResult, any, error) {
	a, b, err := exactNumbers(req.Params.Arguments)
	if err != nil {
		return nil, nil, fmt.Errorf("add: %w", err)
	}
	return textResult(decimal(a.Add(a, b))), nil, nil
}

// exactNumbers reads the numbers a and b without rounding.
func exactNumbers(arguments json.RawMessage) (a, b *big.Rat, err error) {
	var raw struct {
		A json.Number `json:"a"`
		B json.Number `json:"b"`
	}
	if err := json.Unmarshal(arguments, &raw); err != nil {
		return nil, nil, err
	}
	if a, err = exactNumber(raw.A); err != nil {
		return nil, nil, fmt.Errorf("a: %w", err)
	}
	if b, err = exactNumber(raw.B); err != nil {
		return nil, nil, fmt.Errorf("b: %w", err)
	}
	return a, b, nil
}

// A number is refused beyond these bounds, because the exact sum of 1 and 1e-999999999 would fill the memory. They
// leave room for every float64 (exponents to 308, 324 for the smallest) and for far more digits than one has.
const (
	maxLiteral  = 1000
	maxExponent = 400
)

func exactNumber(n json.Number) (*big.Rat, error) {
	if len(n) > maxLiteral {
		return nil, fmt.Errorf("number of %d characters: at most %d are accepted", len(n), maxLiteral)
	}
	if _, exponent, found := strings.Cut(strings.ToLower(n.String()), "e"); found {
		if e, err := strconv.Atoi(exponent); err != nil || max(e, -e) > maxExponent {
			return nil, fmt.Errorf("number %s: exponents beyond %d are not accepted", n, maxExponent)
		}
	}
	r, ok := new(big.Rat).SetString(n.String())
	if !ok {
		return nil, fmt.Errorf("not a number: %q", n)
	}
	return r, nil
}

// decimal returns all digits of r, which must be the sum of decimals.
func decimal(r *big.Rat) string {
	digits, _ := r.FloatPrec() // exact, because the denominator has no prime factors but 2 and 5
	return r.FloatString(digits)
}

const (
	slowDefault = 3   // seconds
	slowMax     = 600 // seconds: longer than any client's time limit, short enough not to be forgotten
)

type slowInput struct {
	Seconds float64 `json:"seconds,omitempty" jsonschema:"how long to wait, in seconds"`
}

// slowSchema is the inferred schema with the bounds and the default, which struct tags cannot say.
func slowSchema() *jsonschema.Schema {
	schema, err := jsonschema.For[slowInput](nil)
	if err != nil { // cannot be: the type is known here
		panic(err)
	}
	seconds := schema.Properties["seconds"]
	seconds.Minimum = new(0.0)
	seconds.Maximum = new(float64(slowMax))
	seconds.Default = json.RawMessage(strconv.Itoa(slowDefault))
	return schema
}

// Progress comes at once and then about ten times a call, but neither so often that it floods a terminal nor so seldom
// that the call looks stuck.
const (
	progressSteps       = 10
	progressMinInterval = 200 * time.Millisecond
	progressMaxInterval = time.Second
)

func slow(logger *slog.Logger) mcp.ToolHandlerFor[slowInput, any] {
	return func(ctx context.Context, req *mcp.CallToolRequest, in slowInput) (*mcp.CallToolResult, any, error) {
		total := time.Duration(in.Seconds * float64(time.Second))
		start := time.Now()
		end := time.NewTimer(total)
		defer end.Stop()
		tick := time.NewTicker(min(max(total/progressSteps, progressMinInterval), progressMaxInterval))
		defer tick.Stop()
		for {
			if err := tellProgress(ctx, req, min(time.Since(start), total), total); err != nil {
				logger.DebugContext(ctx, "progress_not_sent", "error", err) // the call goes on: progress is a courtesy
			}
			select {
			case <-end.C:
				return textResult(fmt.Sprintf("waited %s", total)), nil, nil
			case <-ctx.Done():
				return nil, nil, fmt.Errorf("slow: stopped after %s: %w",
					time.Since(start).Round(time.Millisecond), context.Cause(ctx))
			case <-tick.C:
			}
		}
	}
}

// tellProgress sends a progress notification, if the caller has asked for some (MCP 2025-11-25, basic/utilities/progress).
func tellProgress(ctx context.Context, req *mcp.CallToolRequest, elapsed, total time.Duration) error {
	token := req.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	return req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
		ProgressToken: token,
		Progress:      elapsed.Seconds(),
		Total:         total.Seconds(),
		Message:       fmt.Sprintf("waited %.1f of %.1f s", elapsed.Seconds(), total.Seconds()),
	})
}

type noInput struct{}

func fail(context.Context, *mcp.CallToolRequest, noInput) (*mcp.CallToolResult, any, error) {
	return nil, nil, errors.New("fail: this tool always fails, so that you can see what a failure looks like")
}

type weatherInput struct {
	City string `json:"city" jsonschema:"the name of a city, real or not"`
}

type weatherOutput struct {
	City        string  `json:"city" jsonschema:"the city as it was asked for"`
	Conditions  string  `json:"conditions" jsonschema:"the sky in one word"`
	Temperature float64 `json:"temperature" jsonschema:"air temperature in degrees Celsius"`
	Humidity    int     `json:"humidity" jsonschema:"relative humidity in percent"`
	Wind        int     `json:"wind" jsonschema:"wind speed in kilometres per hour"`
}

func weather(_ context.Context, _ *mcp.CallToolRequest, in weatherInput) (*mcp.CallToolResult, *weatherOutput, error) {
	city := strings.TrimSpace(in.City)
	if city == "" {
		return nil, nil, errors.New("weather: city is empty")
	}
	sky := [...]string{"clear", "cloudy", "foggy", "rainy", "snowy", "stormy", "sunny", "windy"}
	h := fnv.New64a()
	_, _ = h.Write([]byte(strings.ToLower(city))) // a hash never fails to write
	// Each value takes bits of its own, so that they do not depend on each other.
	bits := func(shift, n uint64) int { return int(h.Sum64() >> shift % n) }
	return nil, &weatherOutput{
		City:        city,
		Conditions:  sky[bits(0, uint64(len(sky)))],
		Temperature: (float64(bits(8, 500)) - 100) / 10, // -10.0 to 39.9
		Humidity:    20 + bits(24, 80),
		Wind:        bits(40, 60),
	}, nil
}

// pictureSize is the width and height of the picture in pixels: large enough to be seen, small enough to be read as
// base64.
const pictureSize = 16

func picture(context.Context, *mcp.CallToolRequest, noInput) (*mcp.CallToolResult, any, error) {
	data, err := drawPicture()
	if err != nil {
		return nil, nil, err
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{Data: data, MIMEType: "image/png"}}}, nil, nil
}

// drawPicture returns the picture as a PNG file.
func drawPicture() ([]byte, error) {
	img := image.NewNRGBA(image.Rect(0, 0, pictureSize, pictureSize))
	const step = 255 / (pictureSize - 1)
	for y := range uint8(pictureSize) {
		for x := range uint8(pictureSize) {
			img.SetNRGBA(int(x), int(y), color.NRGBA{R: x * step, G: y * step, B: 128, A: 255})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		return nil, fmt.Errorf("picture: %w", err)
	}
	return b.Bytes(), nil
}

type noteInput struct {
	Text string `json:"text" jsonschema:"the note"`
}

func takeNote(kept *notes) mcp.ToolHandlerFor[noteInput, any] {
	return func(_ context.Context, _ *mcp.CallToolRequest, in noteInput) (*mcp.CallToolResult, any, error) {
		number, err := kept.add(in.Text)
		if err != nil {
			return nil, nil, fmt.Errorf("note: %w", err)
		}
		return &mcp.CallToolResult{Content: []mcp.Content{
			&mcp.TextContent{Text: fmt.Sprintf("kept as note %d", number)},
			&mcp.ResourceLink{
				URI:      noteURI(number),
				Name:     fmt.Sprintf("note %d", number),
				MIMEType: "text/plain",
			},
		}}, nil, nil
	}
}
