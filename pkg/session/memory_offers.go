package session

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/mcpctl/mcpctl/pkg/config"
)

// Offer is what is remembered of a resource, a template or a prompt, for suggestions.
type Offer struct {
	URI         string          `json:"uri,omitempty"`
	URITemplate string          `json:"uriTemplate,omitempty"`
	Name        string          `json:"name,omitempty"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Arguments   []OfferArgument `json:"arguments,omitempty"`
}

// OfferArgument is an argument of a prompt.
type OfferArgument struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

const (
	// offersKept is how many entries of a list are remembered: nobody looks through more than that in a shell.
	offersKept = 500
	// offerText is how many bytes of a text are remembered: a line of a terminal.
	offerText = 200
)

// offered remembers the beginning of a whole list of resources, templates or prompts.
func (m *memory) offered(method string, list List) {
	if m == nil || list.Incomplete || list.Unsupported {
		return
	}
	offers := []Offer{}
	for _, item := range list.Items {
		var o Offer
		if json.Unmarshal(item, &o) != nil || strings.Contains(o.URI, "?") { // a query may hold a key, and this is a file
			continue
		}
		if offers = append(offers, o.short()); len(offers) == offersKept {
			break
		}
	}
	learn := func(r *remembered) {
		// What was remembered is another's, too: it is not changed in place.
		kept := maps.Clone(r.Offers)
		if kept == nil {
			kept = map[string][]Offer{}
		}
		kept[method] = offers
		r.Offers = kept
	}
	m.learn(learn)
	m.learnElsewhere(learn)
}

// short cuts what is only read.
func (o Offer) short() Offer {
	o.Title, o.Description = firstBytes(o.Title), firstBytes(o.Description)
	arguments := o.Arguments
	o.Arguments = nil
	for _, a := range arguments {
		a.Description = firstBytes(a.Description)
		o.Arguments = append(o.Arguments, a)
	}
	return o
}

func firstBytes(text string) string {
	if len(text) <= offerText {
		return text
	}
	end := offerText
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// RememberedOffers returns what a server listed when it was asked last, by "resources/list", "resources/templates/list" or
// "prompts/list"; nil if nothing is remembered. As with [Dialer.RememberedTools], nothing is contacted, and it is no answer.
func (d *Dialer) RememberedOffers(server config.Server, method string) []Offer {
	m := d.memory(server)
	if offers := m.recall().Offers[method]; offers != nil || m == nil {
		return offers
	}
	return m.recallElsewhere().Offers[method]
}

// recallElsewhere returns what is remembered for suggestions of a server that was used in another directory: most have the
// same things to offer everywhere.
func (m *memory) recallElsewhere() remembered {
	var r remembered
	if m == nil || m.elsewhere == "" {
		return r
	}
	data, err := readMemory(m.elsewhere)
	if err != nil || json.Unmarshal(data, &r) != nil || r.Version != memoryVersion {
		return remembered{}
	}
	return r
}

// learnElsewhere changes that.
func (m *memory) learnElsewhere(change func(*remembered)) {
	if m == nil || m.elsewhere == "" {
		return
	}
	r := m.recallElsewhere()
	before := r
	change(&r)
	r.Version = memoryVersion
	if reflect.DeepEqual(before, r) {
		return
	}
	if data, err := json.Marshal(r); err == nil {
		m.write(m.elsewhere, data)
	}
}
