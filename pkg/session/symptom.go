package session

// Why a child process did not become a session is recognised here, in one place, from what it wrote and how it ended. The
// table is rows: what to look for, what it means, what to do. The last line that any row knows decides, because programs
// say last what ended them. What was seen is shown as well, always: a row may be mistaken, and the evidence is not.

import (
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mcpctl/mcpctl/internal/transport"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// remains are what a child left behind that did not open a session.
type remains struct {
	server config.Server
	// lines are what it wrote, as a person would read them: standard output that is not MCP, then standard error.
	lines []string
	// complaints are those of lines that were written to standard error.
	complaints []string
	// exit tells how it ended, nil if it still ran when its time was over.
	exit *transport.Exit
	// quiet is set when it wrote nothing at all, and garbled when its output is UTF-16.
	quiet, garbled bool
	// late is set when an answer came after its standard input had ended, and endless when that had no end of its line.
	late, endless bool
	// env is what it got, and ours our own environment.
	env, ours []string
}

// symptom is one row of the table.
type symptom struct {
	// id names the row in tests.
	id string
	// about says in words what the row looks for.
	about string
	// text finds a line; nil if the row looks at the way of ending alone.
	text func() *regexp.Regexp
	// unless finds the lines that are about something else, nil if there are none.
	unless func() *regexp.Regexp
	// fits is a further condition, nil for none.
	fits func(remains) bool
	// means says what happened, and do the next step. $name stands for a part of the line.
	means, do string
	// says is used in place of both where they have to be worked out. An empty meaning is none.
	says func(r remains, part func(string) string) (means, do string)
}

// wholeLine is the part that is the line itself.
const wholeLine = "line"

// diagnose returns what happened to a child and what to do about it, "" if that is not known.
func (r remains) diagnose() (row, means, do string) {
	table := symptoms()
	for _, line := range slices.Backward(r.lines) {
		for _, s := range table {
			if s.text == nil || s.fits != nil && !s.fits(r) || s.unless != nil && s.unless().MatchString(line) {
				continue
			}
			if m := s.text().FindStringSubmatchIndex(line); m != nil {
				if means, do = s.said(r, line, m); means != "" {
					return s.id, means, do
				}
			}
		}
	}
	for _, s := range table {
		if s.text == nil && s.fits(r) {
			means, do = s.said(r, "", nil)
			return s.id, means, do
		}
	}
	return "", "", ""
}

// said fills in what a row says.
func (s symptom) said(r remains, line string, match []int) (means, do string) {
	fill := func(template string) string {
		if match == nil {
			return template
		}
		return string(s.text().ExpandString(nil, template, line, match))
	}
	if s.says != nil {
		return s.says(r, func(name string) string {
			if name == wholeLine {
				return line
			}
			return fill("${" + name + "}")
		})
	}
	return fill(s.means), fill(s.do)
}

// symptoms returns the table. Where two rows know a line, the first one counts. It is made once: to compile an expression takes
// longer than to look for it.
var symptoms = sync.OnceValue(func() []symptom {
	return slices.Concat(
		protocolSymptoms(), builtForSymptoms(), managerSymptoms(), languageSymptoms(), accessSymptoms(),
		pythonSymptoms(), nodeSymptoms(), packageSymptoms(), containerSymptoms(), networkSymptoms(), systemSymptoms(), argumentSymptoms(), endings(),
	)
})

const (
	moveOn     = "run the command by hand to see what it says"
	newerBuild = "get a build for this system, or run the server in a container"
)

// messageStart finds a response.
var messageStart = lazily(`^\s*\{\s*"jsonrpc"\s*:\s*"2\.0".*"(?:result|error)"`)

// protocolSymptoms are about servers that speak, and not as they should, and about programs that ask a person.
func protocolSymptoms() []symptom {
	return []symptom{
		{
			id: "answers-on-stderr", about: "messages on standard error",
			text: messageStart,
			fits: func(r remains) bool {
				return r.exit == nil && slices.ContainsFunc(r.complaints, messageStart().MatchString)
			},
			means: "it writes its messages to standard error, and clients read standard output", do: "write messages to standard output, and everything else to standard error",
		},
		{
			id: "not-commands", about: "a program that takes messages for commands of its own",
			text:  lazily(`(?i)\b(?:unknown|invalid|unrecognized|no such|bad) (?:\w+ )?(?:command|option|instruction|statement|input)\b.{0,20}\{\s*"?jsonrpc\b|\bjsonrpc"?:\s*"?2\.0\b.*: (?:command )?not found`),
			means: "it takes the messages that it gets for commands of its own", do: "check command and args: this is no MCP server, or it wants an option to be one, such as --stdio",
		},
		{
			id: "python-dict", about: "a message as Python shows it",
			text:  lazily(`^\s*\{\s*'jsonrpc'\s*:`),
			fits:  func(r remains) bool { return r.exit == nil },
			means: "it writes messages as Python shows a dict, and they have to be JSON", do: "write json.dumps(message) in place of str(message) or print(message)",
		},
		{
			id: "encoded-twice", about: "a message inside of a JSON string",
			text:  lazily(`^\s*"\s*\{\s*\\"(?:jsonrpc|id|result)\\"`),
			fits:  func(r remains) bool { return r.exit == nil },
			means: "its messages are encoded twice: each is the text in a JSON string", do: "encode each message once",
		},
		{
			id: "downloading", about: "a container or a package that is still on its way",
			text:  lazily(`^Unable to find image '(?P<name>[^']+)' locally|^(?:\S+: )?Pulling (?:from (?P<name>\S+)|fs layer)|^[0-9a-f]{12}: (?:Downloading|Extracting|Waiting|Verifying)|^\s*Downloading (?P<name>\S+) \([\d.]+ ?[KMG]iB\)`),
			fits:  func(r remains) bool { return r.exit == nil },
			means: "what it is to start was still being downloaded", do: "download it before (docker pull IMAGE, uv tool install PACKAGE), or give it more time: --connect-timeout 5m",
		},
		{
			id: "npx-asks", about: "npx that asks whether it may install",
			text:  lazily(`^Ok to proceed\? \(y\)|^Need to install the following packages`),
			fits:  func(r remains) bool { return r.exit == nil },
			means: "npx asks whether it may install the package, and nobody can answer", do: "add -y: npx -y PACKAGE",
		},
		{
			id: "asks", about: "a program that asks a person",
			text: lazily(`(?i)\[y/n\]:?\s*$|\(y(?:es)?/no?\)\??:?\s*$|^(?:please )?(?:enter|type) (?:your|the) [\w -]{1,40}:\s*$|^(?:password|username|passphrase)(?: for \S+)?:\s*$|press (?:any key|enter|return)`),
			fits: func(r remains) bool { return r.exit == nil },
			says: func(r remains, _ func(string) string) (string, string) {
				if r.mentions(`(?i)corepack is about to download`) {
					return "corepack asks whether it may download, and nobody can answer", "COREPACK_ENABLE_DOWNLOAD_PROMPT=0 in env, or install the package manager once by hand"
				}
				return "it asks a person something, and nobody can answer", "give the answer as an option or a variable (often -y or --yes), or run the command once by hand"
			},
		},
		{
			id: "sign-in", about: "a program that waits for a person to sign in",
			text: lazily(`(?i)\bwaiting for (?:\w+ ){0,2}?(?:authori[sz]ation|authentication|sign[ -]?in|log[ -]?in)\b|\bauthori[sz]e (?:\w+ ){0,2}by visiting\b|\bto (?:sign|log) in, (?:use|open|visit|go to)\b|` +
				`\bbrowser (?:to|for) (?:authenticat|authori[sz]|(?:sign|log)[ -]?in)|\bcopy and paste the url\b|\b(?:oauth|auth|login|authori[sz]ation) callback server\b`),
			fits: func(r remains) bool { return r.exit == nil },
			says: func(r remains, _ func(string) string) (string, string) {
				const means, once = "it waits for a person to sign in", "run the command once by hand, and sign in"
				if url := bridged(r.server); url != "" {
					return means + " at " + url, "look at that server without the bridge, mcpctl can log in by itself: mcpctl doctor " + config.Quote(url) + "; or " + once
				}
				return means, once
			},
		},
	}
}

func pythonSymptoms() []symptom {
	const install = "install its package for the Python that the command uses, or start the server with the Python of its virtual environment"
	return []symptom{
		{
			id: "python-shadowed", about: "a file that hides a package",
			text:  lazily(`ModuleNotFoundError: No module named '[^']+'; '(?P<name>[^']+)' is not a package`),
			means: "a module $name that is no package was found before the package of that name", do: "rename the file $name.py beside the server",
		},
		{
			id: "python-module", about: "a Python module that is not installed",
			text: lazily(`ModuleNotFoundError: No module named '(?P<name>[^']+)'|[/\\]python[\d.]*(\.exe)?: No module named (?P<name>[\w.]+)$`),
			says: func(_ remains, part func(string) string) (string, string) {
				return fmt.Sprintf("the Python module %q is not installed", part("name")), install
			},
		},
		{
			id: "python-import", about: "a name that a Python module does not have",
			text:  lazily(`ImportError: cannot import name '(?P<name>[^']+)' from '(?P<module>[^']+)'`),
			means: "the installed Python module $module has no $name: it is of another version than the server needs",
			do:    "install the version that the server wants: see its requirements",
		},
		{
			id: "python-script", about: "a script that does not exist",
			text:  lazily(`can't open file '(?P<path>[^']+)': \[Errno 2\]`),
			means: "the script $path does not exist", do: "correct the path in args, or set cwd: a relative path begins there",
		},
		{
			id: "python-union", about: "types of a newer Python",
			text:  lazily(`TypeError: unsupported operand type\(s\) for \|: '\w+' and '\w+'`),
			fits:  func(r remains) bool { return r.mentions(`Traceback`) && r.mentions(`NoneType|GenericAlias|'type'`) },
			means: "the server is written for Python 3.10 or newer", do: "start it with a newer Python",
		},
		{
			id: "python-key", about: "a variable that os.environ does not have",
			text: lazily(`^KeyError: '(?P<name>[A-Z][A-Z0-9_]+)'`),
			fits: func(r remains) bool { return r.mentions(`<frozen os>|[/\\]os\.py"|environ`) },
			says: func(r remains, part func(string) string) (string, string) { return r.variable(part("name")) },
		},
	}
}

func nodeSymptoms() []symptom {
	return []symptom{
		{
			id: "node-part", about: "a file that another package lacks",
			text:  lazily(`Cannot find module '(?P<path>[^']*[/\\]node_modules[/\\](?P<name>(?:@[^'/\\]+[/\\])?[^'/\\]+)[/\\][^']+)' imported from `),
			means: "the installed package $name has no $path: it is of another version than the server needs",
			do:    "install the server again (npm ci in its directory; behind npx: remove ~/.npm/_npx), or take another version of it",
		},
		{
			id: "node-file", about: "a JavaScript file that does not exist",
			text:  lazily(`Cannot find module '(?P<path>(/|[A-Za-z]:[\\/])[^']+)'`),
			means: "the file $path does not exist", do: "build the server first (often: npm install && npm run build), or correct the path",
		},
		{
			id: "node-module", about: "a package of Node.js that is not installed",
			text:  lazily(`Cannot find (?:module|package) '(?P<name>[^'./][^']*)'`),
			means: `the Node.js package "$name" is not installed`, do: "run npm install in the directory of the server",
		},
		{
			id: "node-relative", about: "a file of the server that is missing",
			text:  lazily(`Cannot find module '(?P<path>\.[^']+)'`),
			means: "the server misses its file $path", do: "build the server again (often: npm install && npm run build)",
		},
		{
			id: "node-export", about: "a name that a package does not export",
			text:  lazily(`SyntaxError: The requested module '(?P<name>[^']+)' does not provide an export named '(?P<what>[^']+)'`),
			means: "the installed package $name has no $what: it is of another version than the server needs", do: "run npm ci in the directory of the server",
		},
		{
			id: "node-subpath", about: "a part that a package does not export",
			text:  lazily(`Package subpath '(?P<what>[^']+)' is not defined by "exports" in (?P<path>\S+)`),
			means: "the installed package has no part $what ($path): it is of another version than the server needs", do: "run npm ci in the directory of the server",
		},
		{
			id: "node-esm", about: "an ES module that is run as CommonJS",
			text:  lazily(`SyntaxError: Cannot use import statement outside a module|SyntaxError: Unexpected token 'export'`),
			means: "an ES module is run as CommonJS", do: `put "type": "module" into its package.json, or name the file .mjs`,
		},
		{
			id: "node-require-esm", about: "an ES module that CommonJS code loads",
			text:  lazily(`ERR_REQUIRE_ESM|require\(\) of ES Module`),
			means: "the server loads an ES module with require, which this Node.js cannot do", do: "use Node.js 22 or newer, or an older version of the package",
		},
		{
			id: "node-commonjs", about: "CommonJS code in an ES module",
			text:  lazily(`ReferenceError: (?:require|module|__dirname|exports) is not defined in ES module scope`),
			means: "CommonJS code is run as an ES module", do: `take "type": "module" out of its package.json, or name the file .cjs`,
		},
		{
			id: "node-typescript", about: "TypeScript without a compiler",
			text:  lazily(`Unknown file extension "(?P<ext>\.[mc]?tsx?)"`),
			means: "this Node.js does not run TypeScript ($ext)", do: "start the built JavaScript file, or use npx tsx FILE",
		},
		{
			id: "node-global", about: "a function that an old Node.js does not have",
			text:  lazily(`ReferenceError: (?P<name>fetch|File|Headers|FormData|ReadableStream|TransformStream|CustomEvent|structuredClone|WebSocket) is not defined`),
			means: "this Node.js is too old: it has no $name", do: "use Node.js 22 or newer",
		},
		{
			id: "node-memory", about: "Node.js out of memory",
			text:  lazily(`FATAL ERROR: .*(heap out of memory|Allocation failed)`),
			means: "Node.js ran out of memory", do: "give it more: --max-old-space-size=4096 before the script, or NODE_OPTIONS in env",
		},
		{
			id: "node-option", about: "an option that node does not know",
			text:  lazily(`node(\.exe)?: bad option: (?P<name>\S+)`),
			means: "node does not know the option $name", do: "put options of the server behind its script, or update Node.js",
		},
	}
}

func packageSymptoms() []symptom {
	const npm = `npm (?:error|ERR!) `
	const network = "check the network and the proxy (HTTPS_PROXY is passed on); a package that is installed already needs neither: npm install -g, or uv tool install"
	return []symptom{
		{
			id: "npm-unknown", about: "a package that npm's registry does not have",
			text:  lazily(npm + `404\s+(?:The requested resource )?'(?P<name>@?[^'@]+)@[^']*' (?:is not in this registry|could not be found)`),
			means: `npm's registry has no package "$name", or does not show it to you`, do: "check the name of the package in args; a private one needs its registry and a token in ~/.npmrc",
		},
		{
			id: "npm-404", about: "a package that npm's registry does not have",
			text:  lazily(npm + `(?:code E404|404 Not Found - GET (?P<url>\S+))`),
			means: "npm's registry does not have the package", do: "check the name of the package in args; a private one needs its registry and a token in ~/.npmrc",
		},
		{
			id: "npm-version", about: "a version that a package does not have",
			text:  lazily(npm + `(?:notarget )?No matching version found for (?P<name>\S*[^.\s])`),
			means: "npm's registry has no version $name", do: "correct the version behind the @ in args, or leave it out",
		},
		{
			id: "npm-cached", about: "npm without its network",
			text:  lazily(npm + `code ENOTCACHED`),
			means: "npm is set to work offline, and the package is not in its cache", do: "run the command once with the network: npm config get offline",
		},
		{
			id: "npm-certificate", about: "a certificate that npm does not trust",
			text:  lazily(npm + `(?:code|errno) (?P<code>SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_\w+|CERT_\w+)`),
			means: "npm does not trust the certificate of its registry ($code)", do: "name the certificate authority in NODE_EXTRA_CA_CERTS: a proxy of a company has one of its own",
		},
		{
			id: "npm-network", about: "a registry that npm does not reach",
			text: lazily(npm + `(?:code|errno) (?P<code>ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT)|` + npm + `(?:network |FetchError: )request to \S+ failed, reason: .*?(?P<code>E[A-Z_]{4,})`),
			says: func(_ remains, part func(string) string) (string, string) {
				return "npm does not reach its registry (" + part("code") + ")", network
			},
		},
		{
			id: "npm-rights", about: "files that npm may not write",
			text:  lazily(npm + `(?:code|errno) (?:EACCES|EPERM)|npm (?:error|ERR!) Your cache folder contains root-owned files`),
			means: "npm may not write its own files", do: `make them yours again: sudo chown -R "$$(id -un)" ~/.npm`,
		},
		{
			id: "npm-token", about: "a registry that wants authorization",
			text:  lazily(npm + `code (?P<code>E401|E403|ENEEDAUTH)`),
			means: "npm's registry refuses to give the package ($code)", do: "put a valid token for that registry into ~/.npmrc",
		},
		{
			id: "npm-engine", about: "a package that wants another Node.js",
			text:  lazily(npm + `code EBADENGINE|npm (?:error|ERR!) engine Unsupported engine`),
			means: "the package wants another version of Node.js", do: "use the version that it names",
		},
		{
			id: "npm-executable", about: "a package without a program of its name",
			text:  lazily(npm + `could not determine executable to run`),
			means: "the package has no program that npx could choose", do: "name it: npx -y -p PACKAGE PROGRAM; a package that is a library only has none",
		},
		{
			id: "npm-script", about: "a script that package.json does not have",
			text:  lazily(npm + `Missing script: "?(?P<name>[^"\s]+)"?`),
			means: `package.json has no script "$name"`, do: "correct the name, or set cwd to the directory of the server",
		},
		{
			id: "npm-manifest", about: "a directory without package.json",
			text:  lazily(npm + `(?:enoent )?(?:ENOENT: no such file or directory|Could not read package\.json).*open '(?P<path>[^']*package\.json)'`),
			means: "npm is run in a directory without package.json ($path)", do: "set cwd to the directory of the server",
		},
		{
			id: "uv-unknown", about: "a package that PyPI does not have",
			text:  lazily(`Because (?P<name>[\w.\[\]-]+) was not found in`),
			means: `the package registry of Python has no package "$name"`, do: "check the name in args: uvx PACKAGE, or uvx --from PACKAGE PROGRAM",
		},
		{
			id: "uv-program", about: "a package without a program of its name",
			text:  lazily("[Ee]xecutable named `(?P<name>[^`]+)` is not provided by package `(?P<package>[^`]+)`"),
			means: "the package $package has no program $name", do: "name one that it has: uvx --from $package PROGRAM",
		},
		{
			id: "uv-no-program", about: "a program that a package does not have",
			text:  lazily("The executable `(?P<name>[^`]+)` was not found"),
			means: "the package has no program $name", do: "name one that it has: uvx --from PACKAGE PROGRAM",
		},
		{
			id: "uv-spawn", about: "a program that uv run does not find",
			text:  lazily("error: Failed to spawn: `(?P<name>[^`]+)`"),
			means: "uv finds no $name to run", do: "set the directory of the project (uv --directory DIR run …), or correct the path",
		},
		{
			id: "uv-python", about: "a Python that uv does not find",
			text:  lazily(`error: No interpreter found for (?P<name>Python \S+)`),
			means: "uv finds no $name", do: "install it: uv python install",
		},
		{
			id: "uv-network", about: "a registry that uv does not reach",
			fits: func(r remains) bool {
				return r.mentions("Failed to fetch: `") || strings.HasPrefix(commandName(r.server.Command), "uv")
			},
			text:  lazily("Failed to fetch: `(?P<url>[^`]+)`|Request failed after \\d+ retries"),
			means: "uv cannot fetch a package", do: network,
		},
		{
			id: "uv-unsolvable", about: "versions that do not fit together",
			text:  lazily(`No solution found when resolving`),
			means: "uv finds no versions that fit together", do: "read what uv says, and loosen the version in args or the version of Python (uvx --python 3.12 …)",
		},
	}
}

func containerSymptoms() []symptom {
	return []symptom{
		{
			id: "docker-rights", about: "a daemon that the user may not reach",
			text:  lazily(`permission denied while trying to connect to the [Dd]ocker`),
			means: "this user may not reach the Docker daemon", do: "join the group docker: sudo usermod -aG docker $$USER, then log in again",
		},
		{
			id: "docker-daemon", about: "a daemon that does not run",
			text:  lazily(`Cannot connect to the Docker daemon|failed to connect to the docker API|error during connect: .*docker|Cannot connect to Podman`),
			means: "the Docker daemon is not running", do: "start it: Docker Desktop, or sudo systemctl start docker",
		},
		{
			id: "docker-image", about: "an image that cannot be had",
			text: lazily(`pull access denied for (?P<name>[^\s,]+)|manifest for (?P<name>\S+) not found|Error response from daemon: (?:No such image: (?P<name>\S+)|manifest unknown|error from registry: denied)`),
			says: func(_ remains, part func(string) string) (string, string) {
				const do = "check the name of the image with its registry (ghcr.io/OWNER/NAME), and log in if it is private: docker login"
				if name := part("name"); name != "" {
					return fmt.Sprintf("there is no image %q, or you may not have it", strings.Trim(name, ".")), do
				}
				return "there is no such image, or you may not have it", do
			},
		},
		{
			id: "docker-platform", about: "an image for another machine",
			text:  lazily(`no matching manifest for (?P<name>\S+)`),
			means: "the image is not there for this machine ($name)", do: "choose another: docker run --platform linux/amd64 …",
		},
		{
			id: "docker-terminal", about: "a terminal that is not there",
			text:  lazily(`the input device is not a TTY|cannot attach stdin to a TTY-enabled container`),
			means: "-t asks for a terminal, and there is none", do: "leave -t out: docker run -i --rm IMAGE",
		},
		{
			id: "docker-name", about: "a container of the same name",
			text:  lazily(`Conflict\. The container name "/?(?P<name>[^"]+)" is already in use`),
			means: "a container of the name $name exists", do: "leave --name out, or remove that container: docker rm -f $name",
		},
		{
			id: "docker-mount", about: "a path that cannot be mounted",
			text:  lazily(`invalid mount config for type "bind": bind source path does not exist: (?P<path>\S+)`),
			means: "the directory $path that is to be mounted does not exist", do: "correct the path in args",
		},
	}
}

// networkSymptoms are of servers that do not reach what they need: a service, a database, the API they are made for.
// They are made once: answers are looked through for them, too.
var networkSymptoms = sync.OnceValue(func() []symptom {
	const host = `(?P<host>[\w-]+(?:\.[\w-]+)*)`
	const peer = `(?P<peer>\[[0-9a-fA-F:]+\]:\d+|::[0-9a-fA-F:]*:\d{2,5}|[\w.-]+:\d+)`
	const reach = "see that this machine reaches it; behind a proxy, it has to use the proxy too (HTTPS_PROXY is passed on)"
	fetched := func(r remains) bool { // npm and uv tell so of their own registry
		return !r.mentions("Failed to fetch: `|^error: Request failed after|^npm (?:error|ERR!)")
	}
	return []symptom{
		{
			id: "backend-name", about: "a host that a server does not find", fits: fetched,
			text: lazily(`getaddrinfo (?:ENOTFOUND|EAI_AGAIN) ` + host + `|lookup ` + host + `(?: on \S+)?: (?:no such host|server misbehaving|Temporary failure)|` +
				`Failed to resolve '` + host + `'|java\.net\.UnknownHostException: ` + host + `|[Cc]ould not (?:resolve|translate) host(?: ?name)?:? "?` + host + `|` +
				`Cannot connect to host ` + host + `:\d+ .*(?:Name or service not known|nodename nor servname|Temporary failure in name resolution)|` +
				`gaierror: \[Errno -?\d+\]|(?:Name or service not known|Temporary failure in name resolution|nodename nor servname provided|failed to lookup address information)`),
			says: func(_ remains, part func(string) string) (string, string) {
				if name := part("host"); name != "" {
					return "it does not find the host " + name, reach
				}
				return "it does not find the host that it wants to reach", reach
			},
		},
		{
			id: "backend-refused", about: "a service that a server does not reach", fits: fetched,
			text: lazily(`connect (?P<code>ECONNREFUSED|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH) ` + peer + `|dial tcp ` + peer + `: (?:connect: )?(?P<code>connection refused|i/o timeout|no route to host|network is unreachable)|` +
				`connection to server at "(?P<peer>[^"]+)".* failed: (?P<code>[Cc]onnection refused|timeout expired)|` +
				`HTTPS?ConnectionPool\(host='(?P<peer>[^']+)'.*(?P<code>[Cc]onnection refused|timed out|Network is unreachable)|` +
				`Cannot connect to host (?P<peer>\S+) .*(?P<code>Connect call failed)|` +
				`(?:ConnectionRefusedError|ConnectError|ConnectionError|java\.net\.ConnectException)\b.*?(?P<code>[Cc]onnection refused|All connection attempts failed|timed out)|` +
				`(?P<code>[Cc]onnection refused) \(os error \d+\)|ssh: connect to host (?P<peer>\S+) port \d+: (?P<code>Connection refused|Connection timed out|No route to host)`),
			says: func(_ remains, part func(string) string) (string, string) {
				what := "the service that it needs"
				if peer := part("peer"); peer != "" {
					what = peer
				}
				return fmt.Sprintf("it does not reach %s (%s)", what, part("code")), "start that service, or correct its address in the entry's env or args; a container has a localhost of its own"
			},
		},
		{
			id: "backend-certificate", about: "a certificate that a server does not trust", fits: fetched,
			text:  lazily(`\b(?P<code>SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER_CERT(?:_LOCALLY)?|CERT_HAS_EXPIRED|CERTIFICATE_VERIFY_FAILED)\b|(?P<code>self[- ]signed certificate in certificate chain|unable to get local issuer certificate|unable to verify the first certificate|x509: certificate signed by unknown authority|PKIX path building failed|invalid peer certificate: UnknownIssuer)`),
			means: "it does not trust the certificate of what it wants to reach ($code)",
			do:    "name the certificate authority in its env: NODE_EXTRA_CA_CERTS for Node.js, SSL_CERT_FILE for Python and others; a proxy of a company has one of its own",
		},
	}
})

// reachesNothing reports whether a server says in an error that it did not reach what it needs itself.
func reachesNothing(message string) bool {
	return strings.Contains(message, "fetch failed") || // Node.js says no more where nobody asks for the cause
		slices.ContainsFunc(networkSymptoms(), func(s symptom) bool { return s.text().MatchString(message) })
}

func systemSymptoms() []symptom {
	return []symptom{
		{
			id: "script-crlf", about: "a script with line ends of Windows",
			text: lazily(`env: ['‘]?(?P<name>[\w.-]+)(?:\\r|\^M|\\015)['’]?: No such file|(?P<name>[^\s:]+)(?:\^M|\\r): bad interpreter|bad interpreter: (?P<name>[^\s:]+)(?:\^M|\\r)`),
			says: func(remains, func(string) string) (string, string) {
				return "a script has line ends of Windows", `give it those of Unix: sed -i 's/\r$//' FILE, or dos2unix FILE`
			},
		},
		{
			id: "runtime-missing", about: "a program that a script needs",
			text: lazily(`env: ['‘"]?(?P<name>[\w.+-]+)['’"]?: No such file or directory|(?:^|\s)(?:\S*/)?(?:ba|z|da|k)?sh: (?:line )?\d*:? ?(?P<name>[\w.+/-]+): (?:command )?not found|command not found: (?P<name>[\w.+-]+)$|^'(?P<name>[^']+)' is not recognized as an internal or external command`),
			says: func(r remains, part func(string) string) (string, string) {
				name := part("name")
				means := fmt.Sprintf("%s is not on the PATH that the server gets", name)
				if known, ok := runtimeOf(name); ok {
					means = fmt.Sprintf("%s (%s) is not on the PATH that the server gets", name, known.title)
				}
				l := lookup{name: name, env: r.env, ours: r.ours, own: r.server.Env}
				if l.isPath() {
					return fmt.Sprintf("%s does not exist", name), "correct the path in the script"
				}
				if path, _ := l.elsewhere(l.searched()); path != "" {
					return means + ": it is at " + path, "add its directory to PATH in env, or give the full path where the command names it"
				}
				return means, l.advise(&commandError{}, l.searched())
			},
		},
		{
			id: "interpreter-missing", about: "an interpreter that does not exist",
			text:  lazily(`: bad interpreter: |cannot execute: required file not found`),
			means: "a script names an interpreter that does not exist", do: "install it, or correct the first line of the script",
		},
		{
			id: "other-machine", about: "a program for another machine",
			text:  lazily(`[Ee]xec format error|cannot execute binary file|Bad CPU type in executable`),
			means: "a program is for another machine or system", do: newerBuild,
		},
		{
			id: "glibc", about: "a C library that is too old",
			text:  lazily("version [`'](?P<name>(?:GLIBC|GLIBCXX|CXXABI)_[\\d.]+)' not found"),
			means: "the program needs a newer C library ($name) than this system has", do: newerBuild,
		},
		{
			id: "library", about: "a shared library that is missing",
			text: lazily(`error while loading shared libraries: (?P<name>[^\s:]+): cannot open shared object|Library not loaded: (?P<name>\S+)|Error loading shared library (?P<name>[^\s:]+)`),
			says: func(_ remains, part func(string) string) (string, string) {
				return fmt.Sprintf("the shared library %s is missing", part("name")), "install the package that has it"
			},
		},
		{
			id: "java-version", about: "a Java that is too old",
			text: lazily(`UnsupportedClassVersionError: .*class file version (?P<major>\d+)(?:\.\d+)?\)`),
			says: func(_ remains, part func(string) string) (string, string) {
				const first = 44 // Java 1 has 45
				major, err := strconv.Atoi(part("major"))
				if err != nil || major <= first {
					return "the server needs a newer Java", "install a newer Java"
				}
				return fmt.Sprintf("the server needs Java %d or newer", major-first), fmt.Sprintf("install Java %d, or give the full path of its java", major-first)
			},
		},
		{
			id: "java-jar", about: "a jar that does not exist",
			text:  lazily(`Unable to access jarfile (?P<path>.+)$`),
			means: "the file $path does not exist", do: "build the server first, or correct the path; a relative one begins at cwd",
		},
		{
			id: "java-class", about: "a class that does not exist",
			text:  lazily(`Could not find or load main class (?P<name>\S+)`),
			means: "Java finds no class $name", do: "correct the class path or the name in args; to start a jar: java -jar FILE",
		},
		{
			id: "memory", about: "a program out of memory",
			text:  lazily(`java\.lang\.OutOfMemoryError|^MemoryError\b|fatal error: runtime: out of memory|Cannot allocate memory|ENOMEM`),
			means: "it ran out of memory", do: "give it more memory, or less to do",
		},
		{
			id: "disk", about: "a disk that is full",
			text:  lazily(`ENOSPC|[Nn]o space left on device`),
			means: "the disk is full", do: "make room: df -h",
		},
		{
			id: "port", about: "a port that another process has",
			text: lazily(`EADDRINUSE.*?(?::(?P<port>\d{2,5}))?$|[Aa]ddress already in use|[Pp]ort (?P<port>\d{2,5}) is (?:already )?in use|Bind for \S+?:(?P<port>\d{2,5}) failed|Only one usage of each socket address`),
			says: func(r remains, part func(string) string) (string, string) {
				port := part("port")
				if port == "" {
					port = r.find(`(?i)(?:bind|listen|address)\S*[^\d]{0,40}[^\d](\d{2,5})\D{0,3}: bind: address already in use|\('[^']*', (\d{2,5})\)|^\s*port: (\d{2,5})`)
				}
				means := "the port that it wants is taken by another process"
				if port != "" {
					means = "port " + port + " is used by another process"
				}
				return means, "end that process (often an older instance of the same server), or give the server another port"
			},
		},
		{
			id: "read-only", about: "a place where nothing may be written",
			text:  lazily(`(?:EROFS: read-only file system, \w+ '(?P<path>[^']+)|\[Errno 30\] Read-only file system: '(?P<path>[^']+)|open (?P<path>\S+): read-only file system)`),
			means: "it may not write $path", do: "set cwd to a directory that it may write to, or give it the path in env or args; in a container, mount one",
		},
		{
			id: "rights", about: "something that it may not do",
			text: lazily(`PermissionError: \[Errno 13\] Permission denied: '(?P<path>[^']+)'|EACCES: permission denied, \w+ '(?P<path>[^']+)'|open (?P<path>\S+): permission denied|(?P<path>/[^\s:]+): Permission denied$`),
			says: func(_ remains, part func(string) string) (string, string) {
				return "it may not use " + part("path"), "change the permissions, or the path: ls -l " + config.Quote(part("path"))
			},
		},
		{
			id: "file-missing", about: "a file that does not exist",
			text: lazily(`FileNotFoundError: \[Errno 2\] No such file or directory: '(?P<path>[^']+)'|ENOENT: no such file or directory, \w+ '(?P<path>[^']+)'|(?:open|stat|lstat|chdir) (?P<path>[^\s:]+): no such file or directory`),
			says: func(_ remains, part func(string) string) (string, string) {
				return fmt.Sprintf("it does not find %s", part("path")), "make it, or correct the path; a relative one begins at cwd"
			},
		},
		{
			id: "spawn", about: "a program that it cannot start",
			text: lazily(`Error: spawn (?P<name>\S+) ENOENT|exec: "(?P<name>[^"]+)": executable file not found in`),
			says: func(_ remains, part func(string) string) (string, string) {
				return fmt.Sprintf("it cannot start %s, which is not on the PATH that it gets", part("name")), "install it, or add its directory to PATH in env"
			},
		},
	}
}

// syntax finds what parsers say: to them a token is a word.
var syntax = lazily(`(?i)syntax|\bpars(?:e|er|ing)\b|lexer|unexpected|\b(?:json|ya?ml|toml|line|column|position|offset)\b|:\d+:|\btoken ?[^\w\s"'.,:;!]`)

func argumentSymptoms() []symptom {
	// envName is how variables are called that servers want. An underscore tells one from a word in capitals.
	const envName = `(?P<name>[A-Z][A-Z0-9]*_[A-Z0-9_]*[A-Z0-9])`
	const missing = `(?i:is|are|was|were|be|not|missing|required|must|undefined|unset|empty|needs?)`
	return []symptom{
		{
			id: "variable", about: "a variable that it wants",
			text: lazily(`\b(?i:missing|required?|requires|must|please|set|provide|export|need|specify|pass|no) (?:\S+ ){0,6}?\W?` + envName + `\b|` +
				`\b` + envName + `\b\W{0,3}(?:\s*(?:\S+ ){0,4}?` + missing + `\b)|` +
				`(?i:env(?:ironment)?[ -]?(?:variables?|vars?)):?\s+\W?(?P<name>[A-Z][A-Z0-9_]{2,})\b|` +
				`\b(?P<name>[A-Z][A-Z0-9_]{2,})\W? (?i:env(?:ironment)?[ -]?(?:variable|var))`),
			unless: lazily(`(?i)\bto (?:see|show|get|print|display|debug|disable|silence|suppress|hide|skip|avoid|opt out)\b`), // advice that ends no program
			says: func(r remains, part func(string) string) (string, string) {
				name := part("name")
				if strings.HasPrefix(name, "ERR_") || name == "MODULE_NOT_FOUND" || name == "RUST_BACKTRACE" {
					return "", "" // a code, or advice for whoever looks for the cause
				}
				return r.variables(name, part(wholeLine))
			},
		},
		{
			id: "key", about: "a key that is not accepted", unless: syntax,
			text:  lazily(`(?i)\b(?P<how>invalid|expired|incorrect|revoked|bad|unknown) (?P<what>api[ _-]?key|access[ _-]?token|token|licen[cs]e(?:[ _-]?key)?|credentials?|password)\b`),
			means: `it does not accept what it got for authorization ("$how $what")`, do: "check the key, token or licence that the entry gives it in env or args",
		},
		{
			id: "key-expired", about: "a key that is not accepted", unless: syntax,
			text:  lazily(`(?i)\b(?P<what>api[ _-]?key|access[ _-]?token|token|licen[cs]e(?:[ _-]?key)?|credentials?) (?:has |have |is |was )?(?P<how>expired|invalid|revoked|not valid|rejected)\b`),
			means: `it does not accept what it got for authorization ("$what $how")`, do: "check the key, token or licence that the entry gives it in env or args",
		},
		{
			id: "option", about: "an option that it does not know",
			text: lazily(`(?i)unrecognized (?:arguments?|options?):? ['"` + "`" + `‘]?(?P<name>[^'"` + "`" + `’]+)|unknown (?:shorthand )?(?:option|flag|argument|command)s?:? ['"` + "`" + `‘]?(?P<name>[^\s'"` + "`" + `’]+)|flag provided but not defined: (?P<name>\S+)|unexpected argument '(?P<name>[^']+)' found|no such (?:option|command):? '?(?P<name>[^\s'.]+)|invalid option -- '?(?P<name>[^\s']+)`),
			says: func(_ remains, part func(string) string) (string, string) {
				const do = "correct args: see what the command says to --help"
				switch name := strings.TrimRight(strings.TrimSpace(part("name")), ".,;"); name {
				case "undefined", "null", "None": // what a program finds where nothing was given to it
					return "it wants an argument, and got none", do
				default:
					return "it does not know the argument " + name, do
				}
			},
		},
		{
			id: "argument", about: "an argument that it wants",
			text: lazily(`(?i)the following (?:required )?arguments (?:are required|were not provided):\s*(?P<name>.*)$|missing required (?:argument|option|flag|parameter)s?:? ['"` + "`" + `]?(?P<name>[^\s'"` + "`" + `]+)|required flag\(s\) (?P<name>.+) not set|required option '(?P<name>[^']+)' not specified|not enough (?:non-option )?arguments|(?:accepts|requires) (?:at least |between )?\d.* arg\(s\),? (?:only )?received \d|missing (?:argument|option) ['"]?(?P<name>[^\s'"]+)|(?:provide|specify|supply|pass|give) (?P<name>\S.{1,60}?) as (?:an?|the) (?:[\w-]+ ){0,3}(?:argument|parameter)\b`),
			says: func(_ remains, part func(string) string) (string, string) {
				if name := strings.TrimSpace(part("name")); name != "" {
					return "it wants the argument " + name, "add it to args"
				}
				return "it wants more arguments", "add what it names to args: often a subcommand, such as stdio or serve"
			},
		},
		{
			id: "http-server", about: "a server that speaks HTTP",
			text: lazily(`(?i)\b(?:listen|listening|running|runs|serving|serve|started|starting|available|server|ready|up|open|endpoint)\b.*?(?P<url>https?://(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\])(?::\d+)?[^\s"'<>)\],;]*)|` +
				`\b(?:listening|running|serving|started)\b.{0,40}?\bport:? (?P<port>\d{2,5})\b|\blistening (?:on|at) (?:\S*:)?(?P<port>\d{2,5})\b`),
			unless: lazily(`(?i)\b(?:callback|redirect|connect(?:ing|ed)?|using|uses|waiting|wait|fetch(?:ing|ed)?|calling|polling|requests?|upstream|backend|prox(?:y|ying)|fail(?:ed|ure)?|cannot|can't|could not|unable|error|refused|timed out|unreachable)\b`),
			says: func(r remains, part func(string) string) (string, string) {
				address := reachable(part("url"), part("port"))
				if address == "" || slices.Contains(r.server.Args, part("url")) { // it was told that address: it does not serve it
					return "", ""
				}
				return "it says that it serves HTTP at " + address,
					"start it by itself and use its URL instead of the command: mcpctl doctor " + config.Quote(endpointOf(address)) + "; or start it with its stdio option"
			},
		},
	}
}

// bridged returns the URL of the server that a command makes reachable over stdio, "" if it is none of the usual bridges.
func bridged(s config.Server) string {
	words := append([]string{s.Command}, s.Args...)
	bridge := regexp.MustCompile(`(?:^|[/\\@])(?:mcp-remote|mcp-proxy|supergateway)(?:@[\w.]+)?(?:\.cmd)?$`)
	if !slices.ContainsFunc(words, bridge.MatchString) {
		return ""
	}
	if i := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "https://") || strings.HasPrefix(w, "http://") }); i >= 0 {
		return words[i]
	}
	return ""
}

// endings are the rows that look at the way of ending alone.
func endings() []symptom {
	ended := func(status int) func(remains) bool {
		return func(r remains) bool { return r.exit != nil && r.exit.Signal == "" && r.exit.Status == status }
	}
	const notMCP = "check that the command starts an MCP server over stdio: some want a subcommand or an option for it, such as serve, mcp, --stdio"
	return []symptom{
		{
			id: "docker-no-input", about: "a container without standard input",
			fits:  func(r remains) bool { return ended(0)(r) && noInput(r.server) },
			means: "docker run has no -i, so the container got no standard input and ended", do: "add -i: docker run -i --rm IMAGE",
		},
		{
			id: "killed", about: "a process that was killed",
			fits:  func(r remains) bool { return r.exit != nil && r.exit.Signal == "killed" || ended(137)(r) },
			means: "something killed it with SIGKILL; most often the system, when memory ran out", do: "look into the log of the system (dmesg, journalctl -k), and at the memory limit of the container",
		},
		{
			id: "crashed", about: "a process that crashed",
			fits: func(r remains) bool {
				return r.exit != nil && slices.Contains([]string{"segmentation fault", "illegal instruction", "bus error", "trace/breakpoint trap"}, r.exit.Signal)
			},
			means: "the program itself crashed", do: "update it, or get a build for this machine",
		},
		{
			id: "shell-not-found", about: "a shell that found no command",
			fits:  ended(127),
			means: "127 is the status of a shell that does not find a command", do: moveOn,
		},
		{
			id: "shell-not-executable", about: "a shell that could not run a command",
			fits:  ended(126),
			means: "126 is the status of a shell that may not run a file", do: moveOn,
		},
		{
			id: "usage", about: "a text about how it is used",
			fits: func(r remains) bool { return r.exit != nil && r.mentions(`(?i)^usage(?::|\s*$| of \S+:)`) },
			says: func(r remains, _ func(string) string) (string, string) {
				const do = "correct args: some commands want a subcommand such as serve, stdio or mcp"
				if words := r.complaint(); words != "" {
					return "it says " + words + ", and how it is used", do
				}
				return "it printed how it is used: the arguments are not what it wants", do
			},
		},
		{
			id: "bridge", about: "a bridge to a server elsewhere", fits: func(r remains) bool { return bridged(r.server) != "" },
			says: func(r remains, _ func(string) string) (string, string) {
				return "it is a bridge to " + bridged(r.server) + ", and did not get through", "look at that server without the bridge: mcpctl doctor " + config.Quote(bridged(r.server))
			},
		},
		{
			id: "own-words", about: "a process that says itself what is wrong",
			fits: func(r remains) bool { return r.exit != nil && r.complaint() != "" },
			says: func(r remains, _ func(string) string) (string, string) {
				return "it says " + r.complaint(), "see to that; all that it wrote is shown with -v"
			},
		},
		{
			id: "silent-end", about: "a process that ended without a word",
			fits:  func(r remains) bool { return ended(0)(r) && r.quiet },
			means: "without an error and without a word", do: notMCP,
		},
		{
			id: "talked-and-ended", about: "a process that wrote something and ended",
			fits:  func(r remains) bool { return ended(0)(r) },
			means: "without an error", do: notMCP,
		},
		{
			id: "garbled", about: "output in UTF-16",
			fits:  func(r remains) bool { return r.garbled },
			means: "its standard output is UTF-16, and MCP is UTF-8", do: "write UTF-8 without a byte order mark; PowerShell changes what goes through its pipes",
		},
		{
			id: "endless", about: "an answer without an end of its line",
			fits:  func(r remains) bool { return r.exit == nil && r.endless },
			means: "its answer has no end of the line, and a message over stdio is a line", do: "write a newline after each message",
		},
		{
			id: "late", about: "an answer that came when it was too late",
			fits:  func(r remains) bool { return r.exit == nil && r.late },
			means: "its answer came only when its standard input had ended", do: "flush standard output after each message (Python: python -u, or PYTHONUNBUFFERED=1 in env); if it was still starting, give it more time",
		},
	}
}

// mentions reports whether some line matches an expression.
func (r remains) mentions(expr string) bool {
	re := regexp.MustCompile(expr)
	return slices.ContainsFunc(r.lines, re.MatchString)
}

// find returns the first group that took part in the last match of an expression, "" if there is none.
func (r remains) find(expr string) string {
	re := regexp.MustCompile(expr)
	for _, line := range slices.Backward(r.lines) {
		for i, group := range re.FindStringSubmatch(line) {
			if i > 0 && group != "" {
				return group
			}
		}
	}
	return ""
}

// A line in which a program says what is wrong with it, and one that only tells where in the program that was.
var (
	complaining = lazily(`(?i)error\b|exception\b|\bfatal\b|\bpanic:|\bfailed\b|\bcannot\b|\bcan't\b|\bcould not\b|\bunable to\b|\brefused\b|\bdenied\b|\bnot found\b|\binvalid\b|\bmissing\b|\bplease\b|\bmust\b|\brequired\b`)
	placeOnly   = lazily(`^\s*(?:at \S|File "|goroutine \d|(?:errno|code|syscall|hostname|address|port|path): |[\w./*()]+\(.*\)$|-{1,2}\w)`)
	jsonMessage = lazily(`^\s*"message":\s*"(.*)",?\s*$`)
)

// complaint returns the last line in which the child says what is wrong, in quotes, "" if there is none. What programs in
// JavaScript refuse in their settings they print as JSON, whose messages are taken.
func (r remains) complaint() string {
	for _, line := range slices.Backward(r.lines) {
		if !complaining().MatchString(line) || placeOnly().MatchString(line) {
			continue
		}
		if m := jsonMessage().FindStringSubmatch(line); m != nil {
			line = m[1]
		}
		const most = 200
		if runes := []rune(line); len(runes) > most {
			line = string(runes[:most]) + "…"
		}
		return `"` + strings.TrimSpace(line) + `"`
	}
	return ""
}

// variable says what is known about a variable that the child asks for.
func (r remains) variable(name string) (means, do string) {
	value, given := lookupEnv(r.env, name)
	_, here := lookupEnv(r.ours, name)
	switch {
	case given && value == "":
		return fmt.Sprintf("it needs the variable %s, which is set but empty", name), "give it a value"
	case given:
		return fmt.Sprintf("it complains about the variable %s, which it was given", name), "check the value that it gets"
	case here:
		return fmt.Sprintf("%s is set here, but was not passed to the server", name), "pass it on: " + r.pass(name)
	}
	return fmt.Sprintf("it needs the variable %s, which is not set", name), fmt.Sprintf("export %s=…, then: %s", name, r.pass(name))
}

// variables says what is known about a variable that the child asks for in a line that may name more of them: what it wants
// all of, and what it would take instead.
func (r remains) variables(name, line string) (means, do string) {
	named := variableName().FindAllString(line, -1)
	if len(named) > 1 && regexp.MustCompile(`(?i)\bor\b|\beither\b|\bone of\b`).MatchString(line) {
		means, do = r.variable(named[0])
		return strings.Replace(means, "the variable "+named[0], "the variable "+named[0]+", or another that it names", 1), do
	}
	means, do = r.variable(name)
	joined := regexp.MustCompile(`\b` + name + `((?:(?:, |,? and |,? & )` + variableName().String() + `)+)`).FindStringSubmatch(line)
	if joined == nil {
		return means, do
	}
	for _, other := range variableName().FindAllString(joined[1], -1) {
		if value, given := lookupEnv(r.env, other); !given || value == "" {
			more, then := r.variable(other)
			means, do = means+"; "+more, do+"; "+then
		}
	}
	return means, do
}

// pass returns what gives a variable to the server.
func (r remains) pass(name string) string {
	if r.server.Sources["command"].Kind == "entry" {
		return fmt.Sprintf("--env %s for this run, and in the entry, below env: %s: ${%s}", name, name, name)
	}
	return "--env " + name
}

// variableName finds what may be the name of a variable.
var variableName = lazily(`\b[A-Z][A-Z0-9]*_[A-Z0-9_]*[A-Z0-9]\b`)

// withheld returns the last variable that the child's words name, that is set here, and that the child did not get.
func (r remains) withheld() string {
	for _, line := range slices.Backward(r.lines) {
		for _, name := range variableName().FindAllString(line, -1) {
			if _, given := lookupEnv(r.env, name); given {
				continue
			}
			if value, here := lookupEnv(r.ours, name); here && value != "" {
				return name
			}
		}
	}
	return ""
}

func lookupEnv(env []string, name string) (string, bool) {
	for _, pair := range slices.Backward(env) {
		if n, v, ok := strings.Cut(pair, "="); ok && n == name {
			return v, true
		}
	}
	return "", false
}

// reachable returns the URL at which a server can be reached that names an address, or only a port; "" if there is none.
func reachable(address, port string) string {
	if address == "" {
		if n, err := strconv.Atoi(port); err != nil || n > 65535 {
			return ""
		}
		return "http://127.0.0.1:" + port
	}
	u, err := url.Parse(strings.TrimRight(address, ".!"))
	if err != nil {
		return ""
	}
	if ip := net.ParseIP(u.Hostname()); ip != nil && ip.IsUnspecified() { // it listens on all addresses, and this is one
		host := "127.0.0.1"
		if p := u.Port(); p != "" {
			host = net.JoinHostPort(host, p)
		}
		u.Host = host
	}
	return u.String()
}

// endpointOf returns where the MCP endpoint usually is.
func endpointOf(address string) string {
	if u, err := url.Parse(address); err == nil && strings.Trim(u.Path, "/") == "" {
		u.Path = "/mcp"
		return u.String()
	}
	return address
}

// noInput reports whether a command starts a container and does not give it standard input.
func noInput(server config.Server) bool {
	name := commandName(server.Command)
	if name != "docker" && name != "podman" || len(server.Args) == 0 || server.Args[0] != "run" {
		return false
	}
	return !slices.ContainsFunc(server.Args[1:], func(arg string) bool {
		long := strings.HasPrefix(arg, "--")
		return long && strings.HasPrefix(arg, "--interactive") || !long && strings.HasPrefix(arg, "-") && strings.Contains(arg, "i")
	})
}

// nearlyMessage matches what was to be a message, and is no JSON: broken off, or as Python shows a dictionary.
var nearlyMessage = lazily(`^\{\s*["'](jsonrpc|result|id)["']\s*:`)

// explainChild adds what is known about a child that did not open a session, and has been ended.
func (o *opening) explainChild(e *Error, child *transport.Child, c transport.Command) {
	if child.Echoes.Load() {
		e.Class, e.kind, e.RPC = ClassProtocol, kindProtocol, nil
		e.Message, e.Hint = "the command sends back what it gets: it is not an MCP server", "check command and args"
		e.Symptom = "echo"
		return
	}
	n := child.Noise()
	r := remains{server: o.server, env: c.Env, ours: o.d.environ(), late: child.Late.Load(), endless: child.Endless.Load()}
	for _, line := range n.Head {
		r.garbled = r.garbled || transport.Wide(line)
	}
	first := child.StderrHead()
	if len(first) > 0 {
		e.Evidence = append(e.Evidence, "standard error begins with "+transport.Quote(first[0]))
	}
	for i, line := range slices.Concat(n.Head, first, e.StderrTail) {
		if line = transport.Plain(line); line != "" {
			r.lines = append(r.lines, line)
			if i >= len(n.Head) {
				r.complaints = append(r.complaints, line)
			}
		}
	}
	r.quiet = len(r.lines) == 0
	switch {
	case e.ExitStatus != nil:
		r.exit = &transport.Exit{Status: *e.ExitStatus}
	case e.Signal != "":
		r.exit = &transport.Exit{Status: -1, Signal: e.Signal}
	case e.kind != kindTimeout:
		return // it answered, and the answer says what is wrong
	}
	row, means, do := r.diagnose()
	if name := r.withheld(); name != "" && (row == "" || !strings.Contains(means, name)) {
		said, pass := r.variable(name)
		if row == "" || slices.ContainsFunc(endings(), func(s symptom) bool { return s.id == row }) || row == "key" || row == "key-expired" {
			row, means, do = "variable", said, pass
		} else {
			e.Evidence = append(e.Evidence, said)
		}
	}
	if means == "" {
		if n.Lines > 0 && e.kind == kindTimeout {
			e.Message += "; it wrote something else than MCP to standard output"
			e.Hint = "check that the command starts an MCP server over stdio, and not another program"
			if slices.ContainsFunc(n.Head, func(line string) bool { return nearlyMessage().MatchString(line) }) {
				e.Hint = "correct what the server writes: its messages have to be JSON, each whole and on one line"
			}
		}
		return
	}
	if row == "late" { // it may have been slow: a fact, and not yet the cause
		e.Evidence = slices.Insert(e.Evidence, 0, means)
		e.Hint, e.Symptom = do, row
		return
	}
	sep := ": "
	if e.kind == kindTimeout {
		sep = "; "
	}
	e.Message += sep + means
	e.Hint, e.Symptom = do, row
}
