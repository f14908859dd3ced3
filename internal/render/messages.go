package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/mcpctl/mcpctl/internal/iostreams"
)

// Messages are what a server returned for a prompt. See the MCP specification, 2025-11-25, "Prompts", "Getting a Prompt".
type Messages struct {
	// Raw is the result as the server sent it, cut by Truncate if that was called.
	Raw json.RawMessage
	// Description is what the server says about the messages.
	Description string
	// Problems tell what is odd, one sentence each.
	Problems []string

	each []promptMessage
}

// promptMessage is what somebody in the conversation says.
type promptMessage struct {
	role    string
	content Content
}

// ParseMessages reads the result of prompts/get. What is odd in one message hides none of the others; a result without an
// array of messages is an error.
func ParseMessages(raw json.RawMessage) (*Messages, error) {
	fields, err := object(raw)
	if err != nil {
		return nil, err
	}
	list, ok := fields["messages"]
	if !ok {
		return nil, errors.New(`it has no "messages"`)
	}
	var each []json.RawMessage
	if err := json.Unmarshal(list, &each); err != nil || each == nil {
		return nil, errors.New(`"messages" is not an array`)
	}
	m := &Messages{Raw: raw}
	_ = json.Unmarshal(fields["description"], &m.Description) // not text: as good as missing
	for i, item := range each {
		message, problem := parseMessage(item)
		if problem != "" {
			m.Problems = append(m.Problems, fmt.Sprintf("message %d of the result %s", i+1, problem))
		}
		m.each = append(m.each, message)
	}
	return m, nil
}

func parseMessage(raw json.RawMessage) (m promptMessage, problem string) {
	fields, err := object(raw)
	if err != nil {
		return promptMessage{content: ParseContent(raw)}, "is not an object"
	}
	_ = json.Unmarshal(fields["role"], &m.role) // not text: as good as missing
	if m.role == "" {
		problem = "has no role"
	}
	content := fields["content"]
	var text *string
	switch {
	case len(content) == 0 || string(content) == "null":
		return m, "has no content"
	case json.Unmarshal(content, &text) == nil && text != nil:
		problem = "has bare text in place of a block of content"
		content = slices.Concat([]byte(`{"type":"text","text":`), content, []byte(`}`))
	}
	m.content = ParseContent(content)
	return m, problem
}

// Len returns how many messages there are.
func (m *Messages) Len() int { return len(m.each) }

// Write writes the messages, each below its role. In a pipe one message is its text alone, byte for byte.
func (m *Messages) Write(w io.Writer, s Screen) error {
	if len(m.each) == 1 && !s.Terminal {
		return m.each[0].content.Write(w, s, false)
	}
	var b bytes.Buffer
	if about := OneLine(m.Description); about != "" && s.Terminal {
		b.WriteString(s.Paint(Faint, Wrap(about, s.Width, "")) + "\n\n")
	}
	for i, message := range m.each {
		if i > 0 {
			b.WriteByte('\n')
		}
		role := OneLine(message.role)
		if role == "" {
			role = "message"
		}
		b.WriteString(s.Paint(roleStyle(role), role+":") + "\n")
		if _, err := b.WriteTo(w); err != nil {
			return err
		}
		if err := message.content.Write(w, s, true); err != nil {
			return err
		}
	}
	_, err := b.WriteTo(w)
	return err
}

// roleStyle tells those who speak apart.
func roleStyle(role string) Style {
	if role == "assistant" {
		return Good
	}
	return Strong
}

// Truncate cuts the messages to most characters, and returns how many are missing: from the text that Write writes, and
// from Raw, in which it cuts text and base64, in their order, and nothing else.
func (m *Messages) Truncate(most int) (fromText, fromRaw int) {
	const content = "messages.[].content."
	texts := []string{content + "text", content + "resource.text", content + "[].text", content + "[].resource.text", "messages.[].content"}
	blobs := []string{content + "data", content + "resource.blob", content + "[].data", content + "[].resource.blob"}
	cut, fromText := cutStrings(m.Raw, most, texts...)
	if shown, err := ParseMessages(cut); err == nil && fromText > 0 {
		m.each = shown.each
	}
	m.Raw, fromRaw = cutStrings(m.Raw, most, append(texts, blobs...)...)
	return fromText, fromRaw
}

// Save writes the images, audio and resources of the messages into files in dir, as [Content.Save] does, named after stem
// and the number of their message.
func (m *Messages) Save(dir, stem string) (saved []string, err error) {
	for i, message := range m.each {
		name := stem
		if len(m.each) > 1 {
			name = fmt.Sprintf("%s-%d", stem, i+1)
		}
		files, err := message.content.Save(dir, name)
		saved = append(saved, files...)
		if err != nil {
			return saved, err
		}
	}
	return saved, nil
}

// CompactJSON writes value as one document on a line.
func CompactJSON(w io.Writer, s Screen, value any) error {
	doc, err := Marshal(value)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := json.Compact(&b, doc); err != nil {
		return err
	}
	line := append(b.Bytes(), '\n')
	if s.Terminal {
		line = escapeFormat(line)
	}
	_, err = w.Write(line)
	return err
}

// Lines writes texts on a line each, harmless on a terminal.
func Lines(w io.Writer, s Screen, texts []string) error {
	var b bytes.Buffer
	for _, text := range texts {
		if s.Terminal {
			text = iostreams.SanitizeLine(text)
		}
		b.WriteString(text + "\n")
	}
	_, err := b.WriteTo(w)
	return err
}
