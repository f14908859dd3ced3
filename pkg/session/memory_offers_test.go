package session

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpctl/mcpctl/pkg/config"
)

// TestOffersAreRememberedInBounds holds what is kept of a long list: its beginning, short texts, and no query.
func TestOffersAreRememberedInBounds(t *testing.T) {
	d := &Dialer{CacheDir: t.TempDir()}
	server := config.Server{Name: "x", URL: "http://127.0.0.1:1/mcp"}
	if got := d.RememberedOffers(server, "resources/list"); got != nil {
		t.Errorf("before anything was listed: %v", got)
	}
	list := List{Items: []json.RawMessage{json.RawMessage(`{"uri":"a://b?token=secret-secret"}`), json.RawMessage(`7`)}}
	for i := range 2 * offersKept {
		list.Items = append(list.Items, json.RawMessage(fmt.Sprintf(`{"uri":"a://%d","description":%q}`, i, strings.Repeat("ż", offerText))))
	}
	d.memory(server).offered("resources/list", list)
	got := d.RememberedOffers(server, "resources/list")
	if len(got) != offersKept || got[0].URI != "a://0" || got[0].Description != strings.Repeat("ż", offerText/2) {
		t.Errorf("%d, %+v", len(got), got[0])
	}
	d.memory(server).offered("prompts/list", List{Items: []json.RawMessage{json.RawMessage(`{"name":"p","arguments":[{"name":"x","required":true}]}`)}})
	if p := d.RememberedOffers(server, "prompts/list"); len(p) != 1 || p[0].Arguments[0] != (OfferArgument{Name: "x", Required: true}) {
		t.Errorf("%+v", p)
	}
	if len(d.RememberedOffers(server, "resources/list")) != offersKept {
		t.Error("one list makes the other forgotten")
	}
	d.memory(server).offered("prompts/list", List{Incomplete: true})
	if len(d.RememberedOffers(server, "prompts/list")) != 1 {
		t.Error("a list that was cut short is remembered")
	}
	d.memory(server).opened(Info{ServerName: "another"}, "")
	if got := d.RememberedOffers(server, "prompts/list"); got != nil {
		t.Errorf("another server offers %v", got)
	}
}
