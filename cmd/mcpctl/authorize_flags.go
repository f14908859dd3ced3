package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpctl/mcpctl/internal/pasted"
	"github.com/mcpctl/mcpctl/internal/toolargs"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// authUsage is the value of sharedKey for a flag about authorization, which the topic authorization explains.
const authUsage = "authorization"

// authFlags say how one is authorized at an HTTP server. Each is a key of an entry.
type authFlags struct {
	auth              authValue
	clientID          string
	clientSecret      string
	clientMetadataURL string
	issuer            string
	scopes            []string
	grant             grantValue
	privateKey        string
	assertion         string
	redirectURI       string
	redirectPort      portValue
	dpop              bool
	idp               config.IDP
}

// registerAuth registers the flags with the mark of the topic that explains them.
func (f *authFlags) registerAuth(flags *pflag.FlagSet) {
	mine := newFlags()
	mine.Var(&f.auth, "auth", "log in `when`: auto (when the server asks), none, oauth (default auto)")
	mine.StringVar(&f.clientID, "client-id", "", "client `ID` known to the authorization server")
	mine.StringVar(&f.clientSecret, "client-secret", "", "the client's secret: '${VAR}' or @FILE `secret`")
	mine.StringVar(&f.clientMetadataURL, "client-metadata-url", "", "`URL` of the client ID metadata document")
	mine.StringVar(&f.issuer, "oauth-issuer", "", "`URL` of the authorization server that the client belongs to")
	listVar(mine, &f.scopes, "oauth-scope", "ask for this `scope` instead of the server's; repeatable")
	mine.Var(&f.grant, "grant", "get tokens with this `grant`: code, client, jwt, enterprise (default code)")
	mine.StringVar(&f.privateKey, "private-key", "", "sign as the client with the private key in this PEM `file`")
	mine.StringVar(&f.assertion, "assertion", "", "signed assertion, a JWT: '${VAR}' or @FILE `jwt`")
	mine.StringVar(&f.redirectURI, "redirect-uri", "", "redirect `URI` that the client is registered with")
	mine.Var(&f.redirectPort, "redirect-port", "`port` that the browser returns to (default a free one)")
	mine.BoolVar(&f.dpop, "dpop", false, "bind tokens to a key (DPoP), even if the server does not ask")
	mine.StringVar(&f.idp.Issuer, "idp-issuer", "", "`URL` of the organisation's identity provider")
	mine.StringVar(&f.idp.TokenEndpoint, "idp-token-endpoint", "", "`URL` of its token endpoint, if it publishes no metadata")
	mine.StringVar(&f.idp.ClientID, "idp-client-id", "", "client `ID` of mcpctl at the identity provider")
	mine.StringVar(&f.idp.ClientSecret, "idp-client-secret", "", "the secret of that client: '${VAR}' or @FILE `secret`")
	mine.StringVar(&f.idp.IDToken, "idp-id-token", "", "ID token of the person: '${VAR}' or @FILE `jwt`")
	mine.VisitAll(func(flag *pflag.Flag) {
		if usage, value, found := cutPlaceholder(flag.Usage); found {
			flag.Usage, flag.Annotations = usage, map[string][]string{placeholderKey: {value}}
		}
		mark(flag, sharedKey, authUsage)
		flags.AddFlag(flag)
	})
}

// cutPlaceholder takes the placeholder off the end of a usage in which quotes and a dollar would be in its way.
func cutPlaceholder(usage string) (text, value string, found bool) {
	if !strings.Contains(usage, "@FILE `") {
		return usage, "", false
	}
	text, value, _ = strings.Cut(usage, " `")
	return text, strings.ToUpper(strings.TrimSuffix(value, "`")), true
}

// mark gives a flag an annotation.
func mark(flag *pflag.Flag, key, value string) {
	if flag.Annotations == nil {
		flag.Annotations = map[string][]string{}
	}
	flag.Annotations[key] = []string{value}
}

// loginCommand is the command whose purpose is a login.
const loginCommand = "login"

// commandsThatAsk are the commands that may ask a person to log in: those that are about one server. All others use what is kept.
func commandsThatAsk() []string {
	return []string{
		loginCommand, "add", "call", "tools", "resources", "read", "prompts", "prompt", "complete", "task", "tasks", "shell",
	}
}

// registerBrowser registers the flags of the commands that may ask a person to log in. A command that lacks them never does.
func (a *app) registerBrowser(commands ...*cobra.Command) {
	for _, c := range commands {
		if slices.Contains(commandsThatAsk(), c.Name()) {
			a.withFlags(c, func(flags *pflag.FlagSet) { registerBrowserOn(flags, &a.asksAs) })
		}
	}
}

func registerBrowserOn(flags *pflag.FlagSet, f *loginFlags) {
	mine := newFlags()
	mine.BoolVar(&f.browser, "browser", false, "open a browser for a login even without a terminal")
	mine.BoolVar(&f.noBrowser, "no-browser", false, "open no browser: print the URL, and ask for the address it ends at")
	mine.VisitAll(func(flag *pflag.Flag) {
		mark(flag, sharedKey, authUsage)
		flags.AddFlag(flag)
	})
}

// authValue is the flag --auth.
type authValue config.Auth

func (v *authValue) Set(s string) error {
	auth, err := config.ParseAuth(s)
	if err != nil {
		return err
	}
	*v = authValue(auth)
	return nil
}

func (v *authValue) String() string { return string(*v) }
func (v *authValue) Type() string   { return "auth" }

// grantValue is the flag --grant. It takes the short words and the names of the specifications, too.
type grantValue config.Grant

// grantNames are the values of --grant as the help has them.
func grantNames() []string {
	return []string{
		string(config.GrantCode), string(config.GrantClient), string(config.GrantJWTBearer), string(config.GrantEnterprise),
	}
}

func (v *grantValue) Set(s string) error {
	word := strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(s))
	word = strings.TrimPrefix(strings.TrimPrefix(word, "urn:ietf:params:oauth:grant_type:"), "urn:ietf:params:oauth:token_type:")
	switch word {
	case "authorization_code", "code", "browser", "person":
		*v = grantValue(config.GrantCode)
	case "client_credentials", "client_credential", "client", "machine", "m2m":
		*v = grantValue(config.GrantClient)
	case "jwt_bearer", "jwt", "workload", "workload_identity":
		*v = grantValue(config.GrantJWTBearer)
	case "enterprise_managed", "enterprise", "enterprise_managed_authorization", "ema", "xaa", "id_jag", "token_exchange":
		*v = grantValue(config.GrantEnterprise)
	default:
		return fmt.Errorf("%q is not a grant; write %s", s, strings.Join(grantNames(), ", "))
	}
	return nil
}

func (v *grantValue) String() string { return string(*v) }
func (v *grantValue) Type() string   { return "grant" }

// portValue is a flag with the number of a TCP port.
type portValue int

func (v *portValue) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > 65535 {
		return fmt.Errorf("%q is not a port: write a number from 1 to 65535", s)
	}
	*v = portValue(n)
	return nil
}

func (v *portValue) String() string {
	if *v == 0 {
		return ""
	}
	return strconv.Itoa(int(*v))
}

func (v *portValue) Type() string { return "port" }

// authKey is a flag about authorization, its key, and the text of its value in an entry.
type authKey struct {
	flag, key string
	value     func(*config.OAuth) *string
	// secret is set where the value is one.
	secret bool
}

// authKeys are the flags whose values are texts of the key oauth.
func authKeys() []authKey {
	return []authKey{
		{"client-id", "oauth.client_id", func(o *config.OAuth) *string { return &o.ClientID }, false},
		{"client-secret", "oauth.client_secret", func(o *config.OAuth) *string { return &o.ClientSecret }, true},
		{"client-metadata-url", "oauth.client_metadata_url", func(o *config.OAuth) *string { return &o.ClientMetadataURL }, false},
		{"oauth-issuer", "oauth.issuer", func(o *config.OAuth) *string { return &o.Issuer }, false},
		{"private-key", "oauth.private_key", func(o *config.OAuth) *string { return &o.PrivateKey }, false},
		{"assertion", "oauth.assertion", func(o *config.OAuth) *string { return &o.Assertion }, true},
		{"redirect-uri", "oauth.redirect_uri", func(o *config.OAuth) *string { return &o.RedirectURI }, false},
		{"idp-issuer", "oauth.idp.issuer", func(o *config.OAuth) *string { return &o.IDP.Issuer }, false},
		{"idp-token-endpoint", "oauth.idp.token_endpoint", func(o *config.OAuth) *string { return &o.IDP.TokenEndpoint }, false},
		{"idp-client-id", "oauth.idp.client_id", func(o *config.OAuth) *string { return &o.IDP.ClientID }, false},
		{"idp-client-secret", "oauth.idp.client_secret", func(o *config.OAuth) *string { return &o.IDP.ClientSecret }, true},
		{"idp-id-token", "oauth.idp.id_token", func(o *config.OAuth) *string { return &o.IDP.IDToken }, true},
	}
}

// authFlagNames are all flags that say how one is authorized.
func authFlagNames() []string {
	names := []string{"auth", "oauth-scope", "grant", "redirect-port", "dpop"}
	for _, k := range authKeys() {
		names = append(names, k.flag)
	}
	return names
}

// secretFlags are the flags whose value is a secret, or where one is.
func secretFlags() []string {
	var names []string
	for _, k := range authKeys() {
		if k.secret {
			names = append(names, k.flag)
		}
	}
	return names
}

// applyAuth overrides what the flags that were given say.
func (f *authFlags) applyAuth(flags *pflag.FlagSet, set func(flag, key string, change func()), server *config.Server) error {
	set("auth", "auth", func() { server.Auth = config.Auth(f.auth) })
	given := slices.DeleteFunc(authFlagNames(), func(name string) bool { return name == "auth" || !flags.Changed(name) })
	if len(given) == 0 {
		return nil
	}
	o := new(config.OAuth)
	if server.OAuth != nil {
		*o = *server.OAuth
	}
	for _, k := range authKeys() {
		if !flags.Changed(k.flag) {
			continue
		}
		value, err := k.written(flags.Lookup(k.flag).Value.String())
		if err != nil {
			return err
		}
		set(k.flag, k.key, func() { *k.value(o) = value })
	}
	if flags.Changed("oauth-scope") {
		scopes := strings.Fields(strings.Join(f.scopes, " "))
		if len(scopes) == 0 {
			return usagef("--oauth-scope: the value is empty").hint("without the flag the scopes are those that the server names")
		}
		set("oauth-scope", "oauth.scopes", func() { o.Scopes = scopes })
	}
	set("grant", "oauth.grant", func() { o.Grant = config.Grant(f.grant) })
	if flags.Changed("redirect-port") && flags.Changed("redirect-uri") {
		return usagef("--redirect-uri and --redirect-port: choose one; the URI has a port, too")
	}
	// One takes the other's place: an entry may have either.
	set("redirect-port", "oauth.redirect_port", func() { o.RedirectPort, o.RedirectURI = int(f.redirectPort), "" })
	if flags.Changed("redirect-uri") {
		o.RedirectPort = 0
	}
	set("dpop", "oauth.dpop", func() { o.DPoP = f.dpop })
	server.OAuth = o
	return nil
}

// written returns the value of a flag as an entry has it.
func (k authKey) written(value string) (string, error) {
	file, isFile := strings.CutPrefix(value, "@")
	switch {
	case value == "":
		return "", usagef("--%s: the value is empty: perhaps the shell expanded an unset variable", k.flag)
	case k.flag == "private-key":
		if strings.Contains(value, "-----BEGIN ") {
			return "", usagef("--private-key wants the name of a file, not the key: others can see the words of a command line").hint("--private-key FILE")
		}
		return file, nil
	case !k.secret || !isFile:
		return value, nil
	case file == "":
		return "", usagef("--%s: no file after the @", k.flag).hint("--%s @FILE", k.flag)
	case strings.ContainsAny(file, "{}") || strings.Contains(file, ":-"):
		return "", usagef("--%s: %s: such a name cannot be written as a reference; rename the file", k.flag, file)
	}
	if !strings.HasPrefix(file, "~") {
		absolute, err := filepath.Abs(file) // a reference would start beside the configuration
		if err != nil {
			return "", usagef("--%s: %s", k.flag, err)
		}
		file = absolute
	}
	return "${file:" + file + "}", nil
}

// literalSecret returns an error if a secret is written out in a flag: others can see the words of a command line, and they
// stay in the shell's history.
func (a *app) literalSecret(flags *pflag.FlagSet, server string) error {
	for _, k := range authKeys() {
		if !k.secret || !flags.Changed(k.flag) {
			continue
		}
		value := flags.Lookup(k.flag).Value.String()
		if value == "" || strings.HasPrefix(value, "@") || strings.Contains(value, "${") {
			continue
		}
		a.redact.Add(value)
		if pasted.IsURL(server) {
			server = pasted.NameForURL(server)
		}
		if server == "" || server == "NAME" {
			server = "mcp"
		}
		variable := variableFor(server, k.key[strings.LastIndex(k.key, ".")+1:])
		words := slices.Clone(a.args)
		replaceValue(words, func(v string) (string, bool) { return "${" + variable + "}", v == value })
		return usagef("--%s: a secret on the command line is seen by others, and stays in the shell's history", k.flag).
			hint("export %s=…", variable).hint("%s", line(quoted(words))).hint("or from a file: --%s @FILE", k.flag)
	}
	return nil
}

// authFit returns an error if the flags contradict each other.
func (f *authFlags) authFit(flags *pflag.FlagSet, server config.Server) error {
	if hasCredential(server) && server.Auth != config.AuthNone {
		for _, name := range append(authFlagNames(), "browser") {
			if flags.Changed(name) && (name != "auth" || server.Auth == config.AuthOAuth) {
				return usagef("--%s is for a login, and %s gets the credential in its header Authorization: choose one", name, server.Name)
			}
		}
	}
	if !flags.Changed("auth") || server.Auth != config.AuthNone {
		return nil
	}
	for _, name := range append(authFlagNames(), "browser") {
		if name != "auth" && flags.Changed(name) {
			return usagef("--auth none never logs in, and --%s is for a login: choose one", name)
		}
	}
	return nil
}

// authMisfit returns an error if one of the flags was given for a command.
func (f *authFlags) authMisfit(flags *pflag.FlagSet, server config.Server) error {
	for _, name := range append(authFlagNames(), "browser", "no-browser") {
		if flags.Changed(name) {
			return usagef("--%s: %s is a command, and only a URL is logged in to", name, server.Name).
				hint("a command gets its credential with --env NAME")
		}
	}
	return nil
}

// allowLogin notes whether a person may be asked to log in while this command line is carried out.
func (a *app) allowLogin(cmd *cobra.Command) error {
	a.asks.Store(nil)
	flags := cmd.Flags()
	if kind, set := a.lookup(credentialsVariable); set && (flags.Lookup("auth") != nil || slices.Contains([]string{"list", "get", "logout"}, cmd.Name())) {
		if _, err := storeKind(kind); err != nil {
			return usagef("%s: %s", credentialsVariable, err).hint("%s=file, %s=keyring, or unset it", credentialsVariable, credentialsVariable)
		}
	}
	if flags.Lookup("browser") == nil {
		return nil
	}
	if flags.Changed("browser") && flags.Changed("no-browser") && a.asksAs.browser && a.asksAs.noBrowser {
		return usagef("--browser and --no-browser: choose one")
	}
	if all := flags.Lookup("all"); all != nil && all.Changed {
		return nil // several servers
	}
	asks := a.asksAs
	asks.waits = cmd.Name() == loginCommand
	if a.global.noInput || !asks.browser && !asks.waits && !a.canPrompt() {
		return nil
	}
	a.asks.Store(&asks)
	return nil
}

// authWords returns the words of a command line for how one is authorized, quoted: for all values that are set, or for those
// that were given by flags of this command line.
func authWords(server config.Server, all bool) []string {
	var words []string
	put := func(flag, key, value string) {
		if value == "" || !all && server.Sources[key].Kind != sourceFlag {
			return
		}
		words = append(words, "--"+flag, toolargs.Quote(value))
	}
	put("auth", "auth", string(server.Auth))
	o := server.OAuth
	if o == nil {
		return words
	}
	for _, k := range authKeys() {
		value := *k.value(o)
		if file, isFile := strings.CutPrefix(value, "${file:"); k.secret && isFile {
			value = "@" + strings.TrimSuffix(file, "}")
		}
		put(k.flag, k.key, value)
	}
	put("oauth-scope", "oauth.scopes", strings.Join(o.Scopes, " "))
	put("grant", "oauth.grant", string(o.Grant))
	if o.RedirectPort != 0 {
		put("redirect-port", "oauth.redirect_port", strconv.Itoa(o.RedirectPort))
	}
	if o.DPoP && (all || server.Sources["oauth.dpop"].Kind == sourceFlag) {
		words = append(words, "--dpop")
	}
	return words
}

// sourceFlag is the kind of the source of a value that a flag has given.
const sourceFlag = "flag"

// flagWords returns the words for what flags of this command line say of a server, as far as a login is concerned, quoted.
func flagWords(server config.Server) []string {
	var words []string
	flag := func(name, key, value string) {
		if server.Sources[key].Kind == sourceFlag && value != "" {
			words = append(words, "--"+name, toolargs.Quote(value))
		}
	}
	for _, name := range sortedKeys(server.Headers) {
		flag("header", "headers."+name, name+": "+server.Headers[name])
	}
	flag("transport", "transport", string(server.Transport))
	flag("ca-file", "tls.ca_file", server.TLS.CAFile)
	flag("cert-file", "tls.cert_file", server.TLS.CertFile)
	flag("key-file", "tls.key_file", server.TLS.KeyFile)
	if server.TLS.InsecureSkipVerify && server.Sources["tls.insecure_skip_verify"].Kind == sourceFlag {
		words = append(words, "--insecure")
	}
	flag("proxy", "proxy", server.Proxy)
	flag("connect-to", "connect_to", server.ConnectTo)
	return append(words, authWords(server, false)...)
}

// serverLine returns a line to type for a server: a verb, what flags of this command line say of the server, and the server.
func (a *app) serverLine(verb string, server config.Server) string {
	words := append([]string{verb}, flagWords(server)...)
	if pasted.IsURL(server.Name) {
		return line(append(words, toolargs.Quote(server.URL)))
	}
	if config := strings.TrimSpace(a.configWords()); config != "" {
		words = append(words, config)
	}
	return line(append(words, toolargs.Quote(server.Name)))
}

// storeKind reads MCPCTL_CREDENTIALS.
func storeKind(word string) (string, error) {
	switch word {
	case "", "file", "keyring":
		return word, nil
	}
	return "", fmt.Errorf("%q is neither file nor keyring", word)
}
