package main

// What the sets must come to, and what of the suite does not pass, with the reason.

// failing returns why a scenario is expected to fail, "" for one that must pass, and what the client must have said then: it
// must not fail for another reason.
func failing(p pair) (reason, says string) {
	if p.release == stable && p.scenario == "auth/2025-03-26-oauth-metadata-backcompat" {
		return "its metadata names an issuer with another path than it was found at, which a client must not use; later releases of the suite have it right",
			"/.well-known/oauth-authorization-server: its issuer is "
	}
	return "", ""
}

// vacuous returns why a scenario is expected to show nothing, "" for one that must have a success to tell of.
func vacuous(p pair) string {
	switch p.scenario {
	case "sep-2640-client-no-prefetch", "sep-2640-client-verify-digest", "sep-2640-client-verify-size", "sep-2640-client-verify-frontmatter":
		return "it is about the extension for skills, which mcpctl does not have"
	}
	return ""
}
