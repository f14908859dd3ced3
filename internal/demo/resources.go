package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	readmeURI    = "demo://readme"
	pictureURI   = "demo://picture"
	notesURI     = "demo://notes"
	notePrefix   = "demo://notes/"
	noteTemplate = notePrefix + "{number}"
)

const readme = `# The demonstration server of mcpctl

Everything here is made up. Try

- the tools echo, add and weather, which answer at once,
- the tool slow, which takes as long as you say and tells progress,
- the tool fail, which always fails,
- the tool picture, which returns an image,
- the tool note, which changes something: read the notes at demo://notes/1 and so on,
- the resource demo://notes, which has all notes and can be watched,
- the resource demo://picture, which is no text,
- the prompt greet, whose arguments can be completed, and tour, which has several
  messages with text, a resource and an image.
`

func addResources(s *mcp.Server, kept *notes) {
	s.AddResource(&mcp.Resource{
		URI:         readmeURI,
		Name:        "readme",
		Title:       "About this server",
		Description: "What the demonstration server offers",
		MIMEType:    "text/markdown",
		Size:        int64(len(readme)),
	}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return textResource(readmeURI, "text/markdown", readme), nil
	})
	s.AddResource(&mcp.Resource{
		URI:         pictureURI,
		Name:        "picture",
		Title:       "A picture",
		Description: "What the tool picture returns, as a resource",
		MIMEType:    "image/png",
	}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		data, err := drawPicture()
		if err != nil {
			return nil, err
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: pictureURI, MIMEType: "image/png", Blob: data}}}, nil
	})
	s.AddResource(&mcp.Resource{
		URI:         notesURI,
		Name:        "notes",
		Title:       "All notes",
		Description: "All notes that the tool note has kept, one content each; a subscriber is told of each new one",
		MIMEType:    "text/plain",
	}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		all := []*mcp.ResourceContents{} // not nil: the field is required
		for i, text := range kept.all() {
			all = append(all, &mcp.ResourceContents{URI: noteURI(i + 1), MIMEType: "text/plain", Text: text})
		}
		return &mcp.ReadResourceResult{Contents: all}, nil
	})
	kept.added = func(number int) {
		for _, uri := range []string{notesURI, noteURI(number)} {
			// Whoever does not hear of it has gone.
			_ = s.ResourceUpdated(context.Background(), &mcp.ResourceUpdatedNotificationParams{URI: uri})
		}
	}
	s.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: noteTemplate,
		Name:        "note",
		Title:       "A note",
		Description: "A note that the tool note has kept; the first has number 1",
		MIMEType:    "text/plain",
	}, func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		text, ok := kept.read(req.Params.URI)
		if !ok {
			return nil, mcp.ResourceNotFoundError(req.Params.URI)
		}
		return textResource(req.Params.URI, "text/plain", text), nil
	})
}

func textResource(uri, mimeType, text string) *mcp.ReadResourceResult {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: mimeType, Text: text}}}
}

// Bounds of the notes, so that a client in a loop cannot fill the memory: together about 10 MB.
const (
	maxNotes    = 1000
	maxNoteSize = 10_000 // bytes
)

// notes are the notes taken so far, numbered from 1. The zero value is empty.
type notes struct {
	mu    sync.Mutex
	texts []string
	// added is told of each new note, nil if nobody is.
	added func(number int)
}

// add keeps a note and returns its number.
func (n *notes) add(text string) (int, error) {
	if strings.TrimSpace(text) == "" {
		return 0, errors.New("text is empty")
	}
	if len(text) > maxNoteSize {
		return 0, fmt.Errorf("text of %d bytes: at most %d are kept", len(text), maxNoteSize)
	}
	n.mu.Lock()
	if len(n.texts) >= maxNotes {
		n.mu.Unlock()
		return 0, fmt.Errorf("there are %d notes already, no more are kept", maxNotes)
	}
	n.texts = append(n.texts, text)
	number := len(n.texts)
	n.mu.Unlock()
	if n.added != nil {
		n.added(number)
	}
	return number, nil
}

// all returns all notes.
func (n *notes) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.texts)
}

// read returns the note with that URI.
func (n *notes) read(uri string) (string, bool) {
	digits, found := strings.CutPrefix(uri, notePrefix)
	number, err := strconv.Atoi(digits)
	if !found || err != nil || uri != noteURI(number) { // one note has one URI: neither +1 nor 01
		return "", false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if number < 1 || number > len(n.texts) {
		return "", false
	}
	return n.texts[number-1], true
}

// numbers returns the numbers of all notes, as text.
func (n *notes) numbers() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := make([]string, len(n.texts))
	for i := range n.texts {
		all[i] = strconv.Itoa(i + 1)
	}
	return all
}

func noteURI(number int) string { return notePrefix + strconv.Itoa(number) }
