package main

import (
	"github.com/mcpctl/mcpctl/internal/oauth"
)

// loginFlags say how a person is asked to log in.
type loginFlags struct {
	// browser opens a browser also without a terminal, noBrowser opens none: the URL is shown, and the answer may be pasted.
	browser, noBrowser bool
	// waits is set for a command whose purpose is the login: without a terminal it shows the URL and waits.
	waits bool
}

// person returns how the person is asked, nil if nobody may be: there is no terminal, or nothing is to be asked.
func (a *app) person(o loginFlags) *oauth.Person {
	terminal := a.canPrompt()
	if a.global.noInput || !terminal && !o.browser && !o.waits {
		return nil
	}
	return &oauth.Person{Show: func(asked oauth.Asked) { a.warn(asked.URL + "\n") }}
}
