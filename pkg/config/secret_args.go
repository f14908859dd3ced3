package config

import (
	"path"
	"slices"
	"strings"
	"unicode"
)

// Arguments are of no fixed form, and most of what is in them is harmless: names of packages, paths, ids. So the rules are
// narrower than those for headers and variables: a value is a secret if the flag before it says so, or if it has the form of
// a well-known token.

// literalArg is a secret that is written out in an argument.
type literalArg struct {
	index int
	// name is the flag's, the header's or the variable's, or "arg".
	name string
	// shown is the argument with the secret masked, and secrets are what must not be seen.
	shown   string
	secrets []string
}

// literalArgs returns the arguments that hold secrets, as they are written.
func literalArgs(args []string) []literalArg {
	var found []literalArg
	for i, arg := range args {
		before := ""
		if i > 0 {
			before = args[i-1]
		}
		if a, ok := literalArgOf(before, arg); ok {
			a.index = i
			found = append(found, a)
		}
	}
	return found
}

// literalArgOf looks for a secret in an argument that stands behind another.
func literalArgOf(before, arg string) (literalArg, bool) {
	if rest, isFlag := flagName(arg); isFlag {
		name, value, hasValue := strings.Cut(rest, "=")
		if !hasValue {
			return literalArg{}, false
		}
		flag := arg[:len(arg)-len(value)-1]
		a, ok := literalArgOf(flag, value)
		a.shown = flag + "=" + a.shown
		if a.name == "arg" {
			a.name = name
		}
		return a, ok
	}
	flag, behindFlag := flagName(before)
	whole := literalArg{name: "arg", shown: masked, secrets: []string{literalText(arg)}}
	if behindFlag {
		whole.name = flag
	}
	switch {
	case behindFlag && secretFlag(flag) && literalValue(flag, arg):
		return whole, true
	case strings.Contains(arg, "://"):
		return secretURL(arg)
	}
	if name, value, ok := headerOf(before, arg); ok && literalValue(name, value) {
		value = strings.TrimSpace(value)
		return literalArg{
			name: name, shown: arg[:strings.IndexByte(arg, ':')] + ": " + masked,
			secrets: []string{literalText(value), credential(literalText(value))},
		}, true
	}
	if name, value, ok := variableOf(before, arg); ok && literalValue(name, value) {
		return literalArg{name: name, shown: name + "=" + masked, secrets: []string{literalText(value)}}, true
	}
	if scheme, token, ok := strings.Cut(arg, " "); ok && strings.EqualFold(scheme, "Bearer") {
		token = literalText(strings.TrimSpace(token))
		const shortest = 8
		return literalArg{name: "arg", shown: scheme + " " + masked, secrets: []string{token}},
			len(token) >= shortest && !strings.ContainsAny(token, " \t\n")
	}
	return whole, tokenArg(literalText(arg), behindFlag)
}

// flagName returns a flag without its hyphens.
func flagName(arg string) (string, bool) {
	name := strings.TrimLeft(arg, "-")
	return name, name != arg && name != ""
}

// secretFlag reports whether the name of a flag says that a secret follows: --api-key, --token, --db-password.
func secretFlag(name string) bool {
	words := nameWords(name)
	if len(words) == 0 {
		return false
	}
	switch words[0] {
	case "no", "without", "use", "skip", "allow", "require", "enable", "disable", "print", "show":
		return false // nothing follows
	}
	switch last := words[len(words)-1]; last {
	case "token", "secret", "password", "passwd", "passphrase", "pat", "jwt", "apikey", "accesskey", "secretkey", "authkey":
		return true
	case "key":
		return len(words) > 1 && slices.Contains([]string{
			"api", "access", "secret", "private", "auth", "service", "client", "app", "account", "subscription", "license", "admin",
			"master", "shared", "encryption", "signing",
		}, words[len(words)-2])
	default:
		return strings.HasSuffix(last, "token") || strings.HasSuffix(last, "password")
	}
}

// literalValue reports whether the value behind a name of a secret is one, and not the place where it is.
func literalValue(name, value string) bool {
	text := strings.TrimSpace(credential(value))
	switch {
	case strings.HasPrefix(text, "-----BEGIN "):
	case text == "", strings.ContainsRune("-/.~@<$%", rune(text[0])) && !strings.HasPrefix(text, "${"), strings.Contains(text, "://"):
		return false
	}
	switch strings.ToLower(path.Ext(text)) {
	case ".pem", ".key", ".crt", ".json", ".txt", ".yaml", ".yml", ".env", ".toml":
		return false
	}
	switch kind, _, _ := strings.Cut(text, ":"); strings.ToLower(kind) {
	case "env", "file", "stdin", "prompt", "ask", "keyring", "keychain", "optional", "required":
		return false
	}
	switch kind, _, found := strings.Cut(text, "="); kind {
	case "id", "src", "source", "type", "env", "name":
		if found {
			return false // docker's --secret id=NAME
		}
	}
	if strings.Contains(text, "_") && strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == "" {
		return false // the name of a variable
	}
	return literalSecret(name, value) || secretFlag(name) && literalSecret("token", value)
}

// headerOf splits an argument that is a header, by the flag before it or by its name.
func headerOf(before, arg string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(arg, ":")
	if !ok || !validHeaderName(name) || !LooksSecretName(name) {
		return "", "", false
	}
	switch before {
	case "-H", "--header", "--headers":
		return name, value, true
	}
	switch strings.ToLower(name) {
	case "authorization", "proxy-authorization", "cookie", "x-api-key", "api-key", "x-auth-token", "private-token":
		return name, value, true
	}
	return "", "", false
}

// variableOf splits an argument that sets a variable, as docker's -e takes it.
func variableOf(before, arg string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(arg, "=")
	if !ok || !validVariable(name) || !LooksSecretName(name) {
		return "", "", false
	}
	if before != "-e" && before != "--env" && (name != strings.ToUpper(name) || strings.ContainsAny(value, " \t\n")) {
		return "", "", false
	}
	return name, value, true
}

// secretURL looks for a password, or a secret parameter, in an argument that is a URL.
func secretURL(arg string) (literalArg, bool) {
	if strings.ContainsAny(arg, " \t\n") {
		return literalArg{}, false // text with a URL somewhere
	}
	a := literalArg{name: "arg", shown: redactURL(arg)}
	_, rest, _ := strings.Cut(literalText(arg), "://")
	authority := before(rest, "/?#")
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		if _, password, _ := strings.Cut(authority[:at], ":"); password != "" {
			a.name, a.secrets = "password", append(a.secrets, password)
		}
	}
	for _, q := range queryParams(arg) {
		if literalSecret(q.name, q.decoded()) {
			a.name, a.secrets = q.name, append(a.secrets, literalText(q.value))
		}
	}
	return a, len(a.secrets) > 0
}

// tokenArg reports whether an argument has the form of a token. Long ids, hashes and names of files have not: they stand in
// arguments more often than a token without a known beginning does.
func tokenArg(arg string, behindFlag bool) bool {
	if strings.HasPrefix(arg, "-----BEGIN ") && strings.Contains(arg, "PRIVATE KEY-----") || looksLikeAWSKey(arg) {
		return true
	}
	if strings.ContainsAny(arg, " \t\n/\\@:") {
		return false
	}
	for _, prefix := range tokenPrefixes() {
		rest, ok := strings.CutPrefix(arg, prefix)
		least := 8
		if prefix == "sk-" {
			least = 20 // sk-learn-server is the name of a package
		}
		if ok && len(rest) >= least && strings.ContainsFunc(rest, func(r rune) bool { return unicode.IsDigit(r) || unicode.IsUpper(r) }) {
			return true
		}
	}
	const shortest = 20
	hex := strings.Trim(strings.ToLower(arg), "0123456789abcdef-") == ""
	return !behindFlag && !hex && len(arg) >= shortest && strings.ToLower(arg) != arg && path.Ext(arg) == "" && looksRandom(arg)
}
