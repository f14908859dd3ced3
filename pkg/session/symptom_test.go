package session

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/mcpctl/mcpctl/internal/transport"
	"github.com/mcpctl/mcpctl/pkg/config"
)

// seenSymptom is what a child wrote and how it ended, and what is to be said of it.
type seenSymptom struct {
	row   string
	wrote string
	// exit is the status; 0 means 1, and -1 that it still ran.
	exit   int
	signal string
	server config.Server
	means  []string
	do     []string
	late   bool
	// endless is set when the late answer had no end of its line.
	endless bool
}

const alive, zero = -1, -2

// The texts are what the programs of the time print: CPython 3.11, Node.js 20, npm 11 and 10, uv 0.9, dash, bash and env
// of GNU, Docker 27, OpenJDK 17, Go 1.26.
func seenSymptoms() []seenSymptom {
	docker := func(words ...string) config.Server { return config.Server{Command: "docker", Args: words} }
	return []seenSymptom{
		{row: "python-module", wrote: "Traceback (most recent call last):\n  File \"/srv/a.py\", line 1, in <module>\n    import foo_missing\nModuleNotFoundError: No module named 'foo_missing'", means: []string{`"foo_missing" is not installed`}, do: []string{"install", "virtual environment"}},
		{row: "python-module", wrote: "/usr/bin/python3: No module named mcp_server_nope", means: []string{`"mcp_server_nope"`}},
		{row: "python-module", wrote: "/usr/bin/python3: Error while finding module specification for 'a.b' (ModuleNotFoundError: No module named 'a')", means: []string{`"a"`}},
		{row: "python-shadowed", wrote: "ModuleNotFoundError: No module named 'mcp.server'; 'mcp' is not a package", means: []string{"mcp"}, do: []string{"mcp.py"}},
		{row: "python-import", wrote: "Traceback (most recent call last):\n  File \"<string>\", line 1, in <module>\nImportError: cannot import name 'FastMCP' from 'mcp.server' (/usr/lib/python3/dist-packages/mcp/server/__init__.py)", means: []string{"mcp.server has no FastMCP"}},
		{row: "python-script", wrote: "/root/.pyenv/versions/3.11.7/bin/python3: can't open file '/srv/nofile.py': [Errno 2] No such file or directory", exit: 2, means: []string{"/srv/nofile.py does not exist"}, do: []string{"cwd"}},
		{row: "python-union", wrote: "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    def f(x: str | None): ...\nTypeError: unsupported operand type(s) for |: 'type' and 'NoneType'", means: []string{"Python 3.10"}},
		{row: "python-key", wrote: "Traceback (most recent call last):\n  File \"/srv/c.py\", line 1, in <module>\n    import os; os.environ['NOTES_X']\n               ~~~~~~~~~~^^^^^^^^^^^^^^^^^^\n  File \"<frozen os>\", line 679, in __getitem__\nKeyError: 'NOTES_X'", means: []string{"it needs the variable NOTES_X"}, do: []string{"--env NOTES_X"}},
		{row: "own-words", wrote: "Traceback (most recent call last):\n  File \"/srv/c.py\", line 1, in <module>\n    d['NOTES_X']\nKeyError: 'NOTES_X'"}, // a dictionary of the server's own
		{row: "own-words", wrote: "  File \"/srv/d.py\", line 1\n    def f(:\n          ^\nSyntaxError: invalid syntax"},

		{row: "node-file", wrote: "node:internal/modules/cjs/loader:1210\n  throw err;\n  ^\n\nError: Cannot find module '/srv/dist/index.js'\n    at Module._resolveFilename (node:internal/modules/cjs/loader:1207:15)\n  code: 'MODULE_NOT_FOUND',\n  requireStack: []\n}\n\nNode.js v20.20.2", means: []string{"/srv/dist/index.js does not exist"}, do: []string{"npm run build"}},
		{row: "node-module", wrote: "Error: Cannot find module 'express-missing'\nRequire stack:\n- /srv/a.js\n    at Module._load (node:internal/modules/cjs/loader:1038:27) {\n  code: 'MODULE_NOT_FOUND',\n  requireStack: [ '/srv/a.js' ]\n}\n\nNode.js v20.20.2", means: []string{`"express-missing" is not installed`}, do: []string{"npm install"}},
		{row: "node-module", wrote: "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'zod-missing' imported from /srv/a.mjs\n    at packageResolve (node:internal/modules/esm/resolve:873:9) {\n  code: 'ERR_MODULE_NOT_FOUND'\n}", means: []string{`"zod-missing"`}},
		{row: "node-module", wrote: "Error: Cannot find module '@scope/name'", means: []string{`"@scope/name"`}},
		{row: "node-part", wrote: "Fatal error in main(): Cannot find module '/srv/node_modules/@scope/sdk/dist/esm/server/mcp' imported from /srv/node_modules/@other/server/dist/index.js", means: []string{"package @scope/sdk has no /srv/node_modules/@scope/sdk/dist/esm/server/mcp"}, do: []string{"npm ci", "another version"}},
		{row: "node-file", wrote: "Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/srv/nofile.js' imported from /srv/b.mjs", means: []string{"/srv/nofile.js"}},
		{row: "node-relative", wrote: "Error: Cannot find module './lib/x'\nRequire stack:\n- /srv/a.js", means: []string{"./lib/x"}},
		{row: "node-export", wrote: "SyntaxError: The requested module 'zod' does not provide an export named 'z4'", means: []string{"zod has no z4"}},
		{row: "node-subpath", wrote: `Error [ERR_PACKAGE_PATH_NOT_EXPORTED]: Package subpath './server/x.js' is not defined by "exports" in /srv/node_modules/@modelcontextprotocol/sdk/package.json`, means: []string{"./server/x.js"}},
		{row: "node-esm", wrote: "SyntaxError: Cannot use import statement outside a module", do: []string{`"type": "module"`}},
		{row: "node-require-esm", wrote: "Error [ERR_REQUIRE_ESM]: require() of ES Module /srv/node_modules/x/index.js from /srv/a.js not supported."},
		{row: "node-commonjs", wrote: "ReferenceError: require is not defined in ES module scope, you can use import instead"},
		{row: "node-typescript", wrote: `TypeError [ERR_UNKNOWN_FILE_EXTENSION]: Unknown file extension ".ts" for /srv/src/index.ts`, do: []string{"tsx"}},
		{row: "node-global", wrote: "ReferenceError: fetch is not defined\n    at Object.<anonymous> (/srv/a.js:1:1)", means: []string{"no fetch"}},
		{row: "node-memory", wrote: "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n----- Native stack trace -----\n 1: 0xb78db3 node::OOMErrorHandler(char const*, v8::OOMDetails const&) [node]", signal: "aborted", means: []string{"out of memory"}},
		{row: "node-option", wrote: "node: bad option: --stdio", exit: 9, means: []string{"--stdio"}},

		{row: "npm-unknown", wrote: "npm error code E404\nnpm error 404 Not Found - GET https://registry.example/@kan%2fmcp - Not found\nnpm error 404\nnpm error 404  '@kan/mcp@*' is not in this registry.\nnpm error 404\nnpm error 404 Note that you can also install from a\nnpm error 404 tarball, folder, http url, or git url.\nnpm error A complete log of this run can be found in: /root/.npm/_logs/x-debug-0.log", means: []string{`"@kan/mcp"`}},
		{row: "npm-unknown", wrote: "npm error code E404\nnpm error 404 Not Found - GET https://registry.example/yeti-mcp - Not found\nnpm error 404\nnpm error 404 The requested resource 'yeti-mcp@*' could not be found or you do not have permission to access it.", means: []string{`"yeti-mcp"`}},
		{row: "npm-unknown", wrote: "npm ERR! code E404\nnpm ERR! 404  '@mcp/clickup-server@*' is not in this registry.", means: []string{`"@mcp/clickup-server"`}},
		{row: "npm-404", wrote: "npm error code E404", means: []string{"does not have the package"}},
		{row: "npm-version", wrote: "npm error code ETARGET\nnpm error notarget No matching version found for cowsay@99.0.0.\nnpm error notarget In most cases you or one of your dependencies are requesting\nnpm error notarget a package version that doesn't exist.", means: []string{"no version cowsay@99.0.0"}},
		{row: "npm-cached", wrote: "npm error code ENOTCACHED\nnpm error request to https://registry.example/x failed: cache mode is 'only-if-cached' but no cached response is available.", means: []string{"offline"}},
		{row: "npm-certificate", wrote: "npm error code SELF_SIGNED_CERT_IN_CHAIN\nnpm error errno SELF_SIGNED_CERT_IN_CHAIN", do: []string{"NODE_EXTRA_CA_CERTS"}},
		{row: "npm-network", wrote: "npm error code ENOTFOUND\nnpm error syscall getaddrinfo\nnpm error errno ENOTFOUND\nnpm error network request to http://no-such-host.invalid/foo-nope failed, reason: getaddrinfo ENOTFOUND no-such-host.invalid\nnpm error network This is a problem related to network connectivity.", means: []string{"(ENOTFOUND)"}, do: []string{"HTTPS_PROXY"}},
		{row: "npm-network", wrote: "npm error code ECONNREFUSED\nnpm error syscall connect\nnpm error errno ECONNREFUSED\nnpm error FetchError: request to http://127.0.0.1:1/foo-nope failed, reason: connect ECONNREFUSED 127.0.0.1:1", means: []string{"(ECONNREFUSED)"}},
		{row: "npm-rights", wrote: "npm ERR! code EACCES\nnpm ERR! syscall mkdir\nnpm ERR! path /var/www/.npm\nnpm ERR! errno -13\nnpm ERR! Your cache folder contains root-owned files, due to a bug in", do: []string{"chown", "~/.npm"}},
		{row: "npm-token", wrote: "npm error code E401\nnpm error Unable to authenticate, need: Bearer", means: []string{"E401"}, do: []string{".npmrc"}},
		{row: "npm-engine", wrote: "npm error code EBADENGINE\nnpm error engine Unsupported engine\nnpm error notsup Required: {\"node\":\">=22\"}", means: []string{"another version of Node.js"}},
		{row: "npm-executable", wrote: "npm error could not determine executable to run\nnpm error A complete log of this run can be found in: x", do: []string{"npx -y -p"}},
		{row: "npm-script", wrote: "npm error Missing script: \"start:mcp\"\nnpm error\nnpm error To see a list of scripts, run:\nnpm error   npm run", means: []string{`"start:mcp"`}},
		{row: "npm-manifest", wrote: "npm error code ENOENT\nnpm error syscall open\nnpm error path /srv/package.json\nnpm error errno -2\nnpm error enoent Could not read package.json: Error: ENOENT: no such file or directory, open '/srv/package.json'", means: []string{"/srv/package.json"}, do: []string{"cwd"}},
		{row: "uv-unknown", wrote: "  × No solution found when resolving tool dependencies:\n  ╰─▶ Because new-printer was not found in the package registry and you require new-printer, we can\n      conclude that your requirements are unsatisfiable.", means: []string{`"new-printer"`}},
		{row: "uv-program", wrote: "Installed 13 packages in 30ms\nAn executable named `skills` is not provided by package `skore-cli`.\nThe following executables are available:\n- skore", do: []string{"uvx --from skore-cli"}},
		{row: "uv-program", wrote: "The executable `psr2` was not found.\nwarning: An executable named `psr2` is not provided by package `psr2`.", means: []string{"psr2"}},
		{row: "uv-no-program", wrote: "The executable `html_to_markdown` was not found.\nwarning: Package `html-to-markdown` does not provide any executables.", means: []string{"html_to_markdown"}},
		{row: "uv-spawn", wrote: "error: Failed to spawn: `server.py`\n  Caused by: No such file or directory (os error 2)", exit: 2, means: []string{"server.py"}},
		{row: "uv-python", wrote: "error: No interpreter found for Python 3.99 in managed installations or search path", means: []string{"Python 3.99"}},
		{row: "uv-network", wrote: "error: Failed to fetch: `https://registry.example/simple/mcp-server-git/`\n  Caused by: Request failed after 3 retries", means: []string{"cannot fetch"}},
		{row: "uv-network", wrote: "error: Failed to fetch: `https://registry.example/simple/mcp/`\n  Caused by: Request failed after 3 retries\n  Caused by: client error (Connect)\n  Caused by: dns error: failed to lookup address information: Name or service not known", means: []string{"cannot fetch"}},
		{row: "uv-unsolvable", wrote: "  x No solution found when resolving tool dependencies:\n  `-> Because flask-user==0.6.8 was yanked and all versions of rio depend on flask-user==0.6.8, we can conclude that", means: []string{"versions"}},

		{row: "docker-daemon", wrote: "docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?\n\nRun 'docker run --help' for more information", exit: 125, means: []string{"daemon is not running"}, do: []string{"start it"}},
		{row: "docker-daemon", wrote: "docker: error during connect: in the default daemon configuration on Windows, the docker client must be run with elevated privileges to connect: Head \"http://%2F%2F.%2Fpipe%2Fdocker_engine/_ping\": open //./pipe/docker_engine: The system cannot find the file specified.", exit: 125},
		{row: "docker-rights", wrote: "docker: permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock: Get \"http://%2Fvar%2Frun%2Fdocker.sock/_ping\": dial unix /var/run/docker.sock: connect: permission denied", exit: 126, do: []string{"group docker", "$USER"}},
		{row: "docker-image", wrote: "Unable to find image 'mcp/gmail:latest' locally\ndocker: Error response from daemon: pull access denied for mcp/gmail, repository does not exist or may require 'docker login': denied: requested access to the resource is denied.\nSee 'docker run --help'.", exit: 125, means: []string{`"mcp/gmail"`}, do: []string{"docker login"}},
		{row: "docker-image", wrote: "docker: Error response from daemon: manifest for x/y:9 not found: manifest unknown: manifest unknown.", exit: 125, means: []string{`"x/y:9"`}},
		{row: "docker-platform", wrote: "docker: no matching manifest for linux/arm64/v8 in the manifest list entries.", exit: 125, means: []string{"linux/arm64/v8"}},
		{row: "docker-terminal", wrote: "the input device is not a TTY", exit: 1, do: []string{"leave -t out"}},
		{row: "docker-name", wrote: `docker: Error response from daemon: Conflict. The container name "/notes" is already in use by container "4f". You have to remove (or rename) that container to be able to reuse that name.`, exit: 125, do: []string{"docker rm -f notes"}},
		{row: "docker-mount", wrote: `docker: Error response from daemon: invalid mount config for type "bind": bind source path does not exist: /data/x.`, exit: 125, means: []string{"/data/x"}},
		{row: "docker-no-input", server: docker("run", "--rm", "mcp/fetch"), exit: zero, means: []string{"no -i"}, do: []string{"docker run -i"}},
		{row: "silent-end", server: docker("run", "-i", "--rm", "mcp/fetch"), exit: zero},
		{row: "silent-end", server: docker("run", "--rm", "-ti", "mcp/fetch"), exit: zero},

		{row: "script-crlf", wrote: "/usr/bin/env: ‘node\\r’: No such file or directory\n/usr/bin/env: use -[v]S to pass options in shebang lines", exit: 127, do: []string{"dos2unix"}},
		{row: "script-crlf", wrote: "bash: ./x.sh: /bin/bash^M: bad interpreter: No such file or directory", exit: 126},
		{row: "runtime-missing", wrote: "/usr/bin/env: ‘nodenope’: No such file or directory", exit: 127, means: []string{"nodenope is not on the PATH"}},
		{row: "runtime-missing", wrote: "env: dnx: No such file or directory", exit: 127, means: []string{"dnx (.NET) is not on the PATH"}, do: []string{"https://dotnet"}},
		{row: "runtime-missing", wrote: "sh: 1: nopecmd: not found", exit: 127, means: []string{"nopecmd"}},
		{row: "runtime-missing", wrote: "/bin/bash: line 1: nopecmd: command not found", exit: 127, means: []string{"nopecmd"}},
		{row: "runtime-missing", wrote: "zsh:1: command not found: nopecmd", exit: 127, means: []string{"nopecmd"}},
		{row: "interpreter-missing", wrote: "bash: ./bi: /nonexistent/python9: bad interpreter: No such file or directory", exit: 126},
		{row: "interpreter-missing", wrote: "bash: ./bi: cannot execute: required file not found", exit: 127},
		{row: "other-machine", wrote: "exec /usr/local/bin/server: exec format error", exit: 255, means: []string{"another machine"}},
		{row: "glibc", wrote: "./server: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found (required by ./server)", means: []string{"GLIBC_2.38"}},
		{row: "library", wrote: "./server: error while loading shared libraries: libssl.so.1.1: cannot open shared object file: No such file or directory", exit: 127, means: []string{"libssl.so.1.1"}},
		{row: "java-version", wrote: "Error: LinkageError occurred while loading main class a.Main\n\tjava.lang.UnsupportedClassVersionError: a/Main has been compiled by a more recent version of the Java Runtime (class file version 65.0), this version of the Java Runtime only recognizes class file versions up to 61.0", means: []string{"Java 21"}},
		{row: "java-jar", wrote: "Error: Unable to access jarfile target/server.jar", means: []string{"target/server.jar does not exist"}},
		{row: "java-class", wrote: "Error: Could not find or load main class NoSuchClass\nCaused by: java.lang.ClassNotFoundException: NoSuchClass", means: []string{"NoSuchClass"}},
		{row: "backend-name", wrote: "HTTP transport error: TypeError: fetch failed\n    at node:internal/deps/undici/undici:14976:13 {\n  [cause]: Error: getaddrinfo ENOTFOUND api.example.com\n      at GetAddrInfoReqWrap.onlookupall [as oncomplete] (node:dns:122:26) {\n    errno: -3008,\n    code: 'ENOTFOUND',\n    syscall: 'getaddrinfo',\n    hostname: 'api.example.com'\n  }\n}", exit: alive, means: []string{"the host api.example.com"}, do: []string{"HTTPS_PROXY"}},
		{row: "backend-name", wrote: "2026/01/02 03:04:05 dial tcp: lookup db.internal on 127.0.0.53:53: no such host", means: []string{"db.internal"}},
		{row: "backend-name", wrote: "urllib3.exceptions.MaxRetryError: HTTPSConnectionPool(host='api.example.com', port=443): Max retries exceeded with url: / (Caused by NameResolutionError(\"<urllib3.connection.HTTPSConnection object at 0x7f>: Failed to resolve 'api.example.com' ([Errno -2] Name or service not known)\"))", means: []string{"api.example.com"}},
		{row: "backend-name", wrote: "Traceback (most recent call last):\n  File \"/usr/lib/python3.11/socket.py\", line 962, in getaddrinfo\nsocket.gaierror: [Errno -2] Name or service not known", means: []string{"the host that it wants"}},
		{row: "backend-name", wrote: "psycopg.OperationalError: [Errno -2] Name or service not known", means: []string{"the host that it wants"}},
		{row: "backend-name", wrote: "Exception in thread \"main\" java.net.UnknownHostException: db.internal", means: []string{"db.internal"}},
		{row: "backend-refused", wrote: "Error: connect ECONNREFUSED 127.0.0.1:5432\n    at TCPConnectWrap.afterConnect [as oncomplete] (node:net:1611:16) {\n  errno: -111,\n  code: 'ECONNREFUSED',\n  syscall: 'connect',\n  address: '127.0.0.1',\n  port: 5432\n}", means: []string{"127.0.0.1:5432", "ECONNREFUSED"}, do: []string{"start that service"}},
		{row: "backend-refused", wrote: "Error: connect ECONNREFUSED ::1:6379", exit: alive, means: []string{"::1:6379"}},
		{row: "backend-refused", wrote: "2026/01/02 03:04:05 dial tcp 127.0.0.1:5432: connect: connection refused", means: []string{"127.0.0.1:5432", "connection refused"}},
		{row: "backend-refused", wrote: "dial tcp [::1]:5432: connect: connection refused", means: []string{"[::1]:5432"}},
		{row: "backend-refused", wrote: "psycopg2.OperationalError: connection to server at \"localhost\" (127.0.0.1), port 5432 failed: Connection refused\n\tIs the server running on that host and accepting TCP/IP connections?", means: []string{"localhost", "Connection refused"}},
		{row: "backend-refused", wrote: "ConnectionRefusedError: [Errno 111] Connection refused", means: []string{"the service that it needs"}},
		{row: "backend-refused", wrote: "httpx.ConnectError: All connection attempts failed", means: []string{"All connection attempts failed"}},
		{row: "backend-refused", wrote: "Error: Connection refused (os error 111)", means: []string{"the service that it needs"}},
		{row: "backend-refused", wrote: "ssh: connect to host build.internal port 22: Connection refused", exit: 255, means: []string{"build.internal"}},
		{row: "backend-certificate", wrote: "TypeError: fetch failed\n  [cause]: Error: self-signed certificate in certificate chain\n      at TLSSocket.onConnectSecure (node:_tls_wrap:1674:34) {\n    code: 'SELF_SIGNED_CERT_IN_CHAIN'\n  }", do: []string{"NODE_EXTRA_CA_CERTS"}},
		{row: "backend-certificate", wrote: "ssl.SSLCertVerificationError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: unable to get local issuer certificate (_ssl.c:1006)", do: []string{"SSL_CERT_FILE"}},
		{row: "backend-certificate", wrote: "Get \"https://api.example.com/\": tls: failed to verify certificate: x509: certificate signed by unknown authority", means: []string{"signed by unknown authority"}},
		{row: "memory", wrote: "Exception in thread \"main\" java.lang.OutOfMemoryError: Java heap space", means: []string{"memory"}},
		{row: "disk", wrote: "OSError: [Errno 28] No space left on device", means: []string{"disk is full"}},
		{row: "port", wrote: "Error: listen EADDRINUSE: address already in use :::43005\n    at Server.setupListenHandle [as _listen2] (node:net:1908:16)\n  code: 'EADDRINUSE',\n  port: 43005\n}\n\nNode.js v20.20.2", means: []string{"port 43005"}},
		{row: "port", wrote: "Traceback (most recent call last):\n  File \"<string>\", line 1, in <module>\nOSError: [Errno 98] Address already in use", means: []string{"the port that it wants"}},
		{row: "port", wrote: "2026/01/02 03:04:05 listen tcp :8080: bind: address already in use", means: []string{"port 8080"}},
		{row: "port", wrote: "ERROR:    [Errno 98] error while attempting to bind on address ('127.0.0.1', 8000): address already in use", means: []string{"port 8000"}},
		{row: "rights", wrote: "PermissionError: [Errno 13] Permission denied: '/var/lib/x'", means: []string{"/var/lib/x"}},
		{row: "rights", wrote: "Error: EACCES: permission denied, mkdir '/data'\n    at mkdirSync (node:fs:1)", means: []string{"/data"}},
		{row: "rights", wrote: "sh: 1: /srv/a.py: Permission denied", exit: 126, means: []string{"/srv/a.py"}},
		{row: "file-missing", wrote: "FileNotFoundError: [Errno 2] No such file or directory: 'notes.db'", means: []string{"notes.db"}, do: []string{"cwd"}},
		{row: "file-missing", wrote: "Error: ENOENT: no such file or directory, open '/nope/x'\n    at Object.openSync (node:fs:573:18)\n  errno: -2,\n  code: 'ENOENT',\n  syscall: 'open',\n  path: '/nope/x'\n}", means: []string{"/nope/x"}},
		{row: "file-missing", wrote: "2026/01/02 03:04:05 open config.toml: no such file or directory", means: []string{"config.toml"}},
		{row: "spawn", wrote: "Error: spawn rg ENOENT\n    at ChildProcess._handle.onexit (node:internal/child_process:285:19)", means: []string{"rg"}},
		{row: "spawn", wrote: `exec: "git": executable file not found in $PATH`, means: []string{"git"}},

		{row: "variable", wrote: "Error: GITHUB_PERSONAL_ACCESS_TOKEN environment variable is required", means: []string{"GITHUB_PERSONAL_ACCESS_TOKEN", "not set"}},
		{row: "variable", wrote: "Missing required environment variable: SLACK_BOT_TOKEN", means: []string{"SLACK_BOT_TOKEN"}},
		{row: "variable", wrote: "Please set BRAVE_API_KEY", means: []string{"BRAVE_API_KEY"}},
		{row: "variable", wrote: "Error: META_ACCESS_TOKEN: Missing", means: []string{"META_ACCESS_TOKEN"}},
		{row: "variable", wrote: "ValueError: NOTION_TOKEN must be set", means: []string{"NOTION_TOKEN"}},
		{row: "variable", wrote: "fatal: FAULTLAB_TOKEN is missing or wrong", exit: 78, means: []string{"FAULTLAB_TOKEN"}},
		{row: "variable", wrote: "Please set MAIL_TOKEN environment variable", means: []string{"MAIL_TOKEN"}},
		{row: "variable", wrote: "environment variable PORT is not set", means: []string{"PORT"}},
		{row: "variable", wrote: "Error: No token was given.\nLog in first, or pass `--token` / `NOTES_TOKEN`.\nUsage: notes [--token=<token>]", means: []string{"NOTES_TOKEN"}},
		{row: "variable", wrote: "Please set MAIL_TOKEN and MAIL_TEAM environment variables", means: []string{"the variable MAIL_TOKEN, which is not set; it needs the variable MAIL_TEAM, which is not set"}, do: []string{"--env MAIL_TOKEN; export MAIL_TEAM"}},
		{row: "variable", wrote: "MAIL_TOKEN, MY_GIVEN must be set. See MAIL_DOCS", means: []string{"it needs the variable MAIL_TOKEN, which is not set"}},
		{row: "variable", wrote: `{"level":"fatal","message":"Either MAIL_TOKEN, MAIL_BOT, or both MAIL_USER and MAIL_PASSWORD must be provided","stack":"x"}`, means: []string{"it needs the variable MAIL_TOKEN, or another that it names, which is not set"}, do: []string{"--env MAIL_TOKEN"}},
		{row: "variable", wrote: "MY_EMPTY must be set", means: []string{"set but empty"}},
		{row: "variable", wrote: "MY_GIVEN is not valid: it must not be empty", means: []string{"which it was given"}, do: []string{"check the value"}},
		{row: "variable", wrote: "MY_OURS is not set", means: []string{"MY_OURS is set here, but was not passed to the server"}, do: []string{"--env MY_OURS"}},
		{row: "variable", wrote: "MY_OURS is not set", server: config.Server{Name: "n", Sources: map[string]config.Source{"command": {Kind: "entry"}}}, do: []string{"--env MY_OURS", "below env: MY_OURS: ${MY_OURS}"}},
		{row: "key", wrote: "error: Invalid API key provided", means: []string{"Invalid API key"}},
		{row: "key-expired", wrote: "Your license has expired. Renew at https://example.com", means: []string{"license expired"}},
		{row: "option", wrote: "usage: srv [-h]\nsrv: error: unrecognized arguments: --stdio", exit: 2, means: []string{"--stdio"}},
		{row: "option", wrote: "unknown option --nope\nusage: /usr/bin/python3 [option] ... [-c cmd | -m mod | file | -] [arg] ...\nTry `python -h' for more information.", exit: 2},
		{row: "option", wrote: "flag provided but not defined: -stdio\nUsage of server:\n  -port int", exit: 2, means: []string{"-stdio"}},
		{row: "option", wrote: "error: unexpected argument '--stdio' found\n\nUsage: server [OPTIONS]\n\nFor more information, try '--help'.", exit: 2},
		{row: "argument", wrote: "usage: srv [-h] --dir DIR\nsrv: error: the following arguments are required: --dir", exit: 2, means: []string{"--dir"}},
		{row: "option", wrote: "[DEBUG] Uncaught exception: Error: Unknown command: undefined. Expected 'init' or 'run'.", exit: zero, means: []string{"wants an argument, and got none"}},
		{row: "argument", wrote: "error: missing required argument 'path'", means: []string{"path"}},
		{row: "argument", wrote: "notes <command>\n\nCommands:\n  notes stdio  Start over stdio.\n\nNot enough non-option arguments: got 0, need at least 1", means: []string{"more arguments"}, do: []string{"subcommand"}},
		{row: "argument", wrote: "Error: accepts 1 arg(s), received 0", means: []string{"more arguments"}},
		{row: "argument", wrote: "Error: requires at least 1 arg(s), only received 0", means: []string{"more arguments"}},
		{row: "argument", wrote: "error: required option '--url <url>' not specified", means: []string{"the argument --url <url>"}},
		{row: "argument", wrote: "Error: Missing option '--api-key'.", exit: 2, means: []string{"the argument --api-key"}},
		{row: "argument", wrote: "Please provide a database URL as a command-line argument", means: []string{"the argument a database URL"}},
		{row: "usage", wrote: "Usage: mcp-server-filesystem <allowed-directory> [additional-directories...]", exit: 1, means: []string{"how it is used"}},
		{row: "http-server", wrote: "INFO:     Started server process [1]\nINFO:     Uvicorn running on http://0.0.0.0:8000 (Press CTRL+C to quit)", exit: alive, means: []string{"http://127.0.0.1:8000"}, do: []string{"mcpctl doctor http://127.0.0.1:8000/mcp"}},
		{row: "http-server", wrote: "MCP server listening on http://localhost:3000/sse", exit: alive, do: []string{"mcpctl doctor http://localhost:3000/sse"}},
		{row: "http-server", wrote: "Server listening on port 3001", exit: alive, means: []string{"http://127.0.0.1:3001"}},
		{row: "", wrote: "listening on port 99999", exit: alive},

		{row: "answers-on-stderr", wrote: `{"jsonrpc":"2.0","id":1,"result":{}}`, exit: alive, means: []string{"standard error"}},
		{row: "npx-asks", wrote: "Need to install the following packages:\n  some-mcp@1.0.0\nOk to proceed? (y) ", exit: alive, do: []string{"npx -y"}},
		{row: "asks", wrote: "! Corepack is about to download https://x/yarn-1.22.22.tgz\n? Do you want to continue? [Y/n] ", exit: alive, means: []string{"corepack"}, do: []string{"COREPACK_ENABLE_DOWNLOAD_PROMPT"}},
		{row: "asks", wrote: "Enter your API key: ", exit: alive, means: []string{"asks a person"}},
		{row: "", wrote: "Enter the directory with care", exit: alive},
		{row: "sign-in", wrote: "[7] OAuth callback server running at http://127.0.0.1:10918\n[7] Using transport strategy: http-first\n[7] Authentication required. Waiting for authorization...", exit: alive, server: config.Server{Command: "npx", Args: []string{"mcp-remote", "https://x.example/mcp"}}, means: []string{"sign in at https://x.example/mcp"}, do: []string{"mcpctl doctor https://x.example/mcp;", "once by hand"}},
		{row: "sign-in", wrote: "OAuth callback server running at http://127.0.0.1:10918", exit: alive, do: []string{"once by hand"}},
		{row: "sign-in", wrote: "To sign in, use a web browser to open the page https://login.example/device and enter the code ABCD to authenticate.", exit: alive},
		{row: "sign-in", wrote: "Please authorize this client by visiting:\nhttps://login.example/authorize?client_id=1\n", exit: alive},
		{row: "own-words", wrote: "OAuth callback server running at http://127.0.0.1:10918\nError: boom"},
		{row: "", wrote: "Waiting for the index of authorizations", exit: alive},
		{row: "", wrote: "redirect server listening on http://127.0.0.1:10918", exit: alive},
		{row: "node-old", wrote: "Error: Cannot find module 'node:events'\nRequire stack:\n- /x/index.js", means: []string{"too old"}, do: []string{"PATH"}},
		{row: "node-old", wrote: "file:///x/index.js:3\n  this.a ??= 1;\n         ^^^\n\nSyntaxError: Unexpected token '??='\n    at Loader.moduleStrategy (internal/modules/esm/translators.js:149:18)"},
		{row: "npx-old", wrote: "ERROR: You must supply a command.\n\nExecute binaries from npm packages.\n\n  npx [options] <command>[@version] [command-arg]...", do: []string{"full path of its npx"}},
		{row: "node-abi", wrote: "Error: The module '/x/better_sqlite3.node'\nwas compiled against a different Node.js version using\nNODE_MODULE_VERSION 115. This version of Node.js requires\nNODE_MODULE_VERSION 127. Please try re-compiling or re-installing", do: []string{"npm rebuild", "_npx"}},
		{row: "node-native", wrote: "Error: Could not locate the bindings file. Tried:\n → /x/node_modules/better-sqlite3/build/better_sqlite3.node"},
		{row: "node-native", wrote: "Error: Cannot find module @rollup/rollup-linux-x64-gnu. npm has a bug related to optional dependencies (https://github.com/npm/cli/issues/4828)."},
		{row: "npm-cache", wrote: "npm error code ENOTEMPTY\nnpm error syscall rename\nnpm error path /home/me/.npm/_npx/abc/node_modules/x\nnpm error errno -39", means: []string{"ENOTEMPTY"}},
		{row: "uv-python-version", wrote: "error: The requested interpreter resolved to Python 3.9.18, which is incompatible with the project's Python requirement: `>=3.11`", exit: 2, means: []string{"wants Python >=3.11, and 3.9.18"}},
		{row: "uv-project", wrote: "error: No `pyproject.toml` found in current directory or any parent directory", exit: 2, do: []string{"uv --directory"}},
		{row: "uv-build", wrote: "  × Failed to build `lxml==5.0`\n  ├─▶ The build backend returned an error\n  ╰─▶ Call to `setuptools.build_meta` failed (exit status: 1)", means: []string{"lxml==5.0"}},
		{row: "dotnet-version", wrote: "You must install or update .NET to run this application.\n\nApp: /x/mcp\nFramework: 'Microsoft.NETCore.App', version '9.0.0' (x64)", exit: 150},
		{row: "docker-entry", wrote: `docker: Error response from daemon: failed to create task for container: OCI runtime create failed: runc create failed: unable to start container process: exec: "node": executable file not found in $PATH: unknown.`, exit: 127, means: []string{"the image has no program node"}},
		{row: "watchers", wrote: "Error: ENOSPC: System limit for number of file watchers reached, watch '/x'", do: []string{"max_user_watches"}},
		{row: "watchers", wrote: "Error: EMFILE: too many open files, watch"},
		{row: "pyenv", wrote: "pyenv: mcp-server: command not found\n\nThe `mcp-server' command exists in these Python versions:\n  3.11.4", exit: 127, means: []string{"has no mcp-server"}, do: []string{"PYENV_VERSION"}},
		{row: "version-unset", wrote: "No version is set for command npx\nConsider adding one of the following versions in your config file at /home/me/.tool-versions\nnodejs 20.11.0", exit: 126, means: []string{"npx"}},
		{row: "mise-trust", wrote: "mise ERROR Config files in ~/p/.mise.toml are not trusted.\nTrust them with `mise trust`.", means: []string{"~/p/.mise.toml"}},
		{row: "volta", wrote: "Volta error: Node is not available.\n\nTo run any Node command, first set a default version using `volta install node`", means: []string{"Node is not available"}},
		{row: "conda", wrote: "EnvironmentLocationNotFound: Not a conda environment: /opt/conda/envs/mcp", means: []string{"/opt/conda/envs/mcp"}},
		{row: "conda-activate", wrote: "CondaError: Run 'conda init' before 'conda activate'", do: []string{"conda run"}},
		{row: "wsl", wrote: "Windows Subsystem for Linux has no installed distributions."},
		{row: "python-relative", wrote: "Traceback (most recent call last):\n  File \"/x/s.py\", line 3, in <module>\n    from .a import b\nImportError: attempted relative import with no known parent package", do: []string{"python -m"}},
		{row: "python-asyncio", wrote: "Traceback (most recent call last):\nRuntimeError: Already running asyncio in this thread", do: []string{"run_stdio_async"}},
		{row: "python-encoding", wrote: "UnicodeEncodeError: 'charmap' codec can't encode character '\\u2713' in position 0: character maps to <undefined>", means: []string{"as charmap"}, do: []string{"PYTHONUTF8=1"}},
		{row: "python-version", wrote: "TypeError: FastMCP.__init__() got an unexpected keyword argument 'description'", means: []string{"has no description"}},
		{row: "python-settings", wrote: "pydantic_core._pydantic_core.ValidationError: 1 validation error for Settings\napi_key\n  Field required [type=missing, input_value={}, input_type=dict]\n    For further information visit https://errors.pydantic.dev/2.11/v/missing", means: []string{"its settings lack api_key"}, do: []string{"API_KEY"}},
		{row: "ruby-gem", wrote: "<internal:/usr/lib/ruby/rubygems/core_ext/kernel_require.rb>:136:in `require': cannot load such file -- mcp (LoadError)", means: []string{`"mcp"`}},
		{row: "ruby-gem", wrote: "Could not find gem 'mcp' in locally installed gems.", exit: 7},
		{row: "php-autoload", wrote: "PHP Fatal error:  Uncaught Error: Failed opening required '/x/vendor/autoload.php' (include_path='.:/usr/share/php') in /x/server.php:3", exit: 255, do: []string{"composer install"}},
		{row: "java-manifest", wrote: "no main manifest attribute, in server.jar", means: []string{"server.jar"}},
		{row: "deno-permission", wrote: `error: Uncaught (in promise) NotCapable: Requires net access to "api.example.com:443", run again with the --allow-net flag`, means: []string{"net access to"}, do: []string{"--allow-net"}},
		{row: "browser", wrote: "browserType.launch: Executable doesn't exist at /home/me/.cache/ms-playwright/chromium-1100/chrome-linux/chrome"},
		{row: "git-access", wrote: "fatal: could not read Username for 'https://github.com': terminal prompts disabled", exit: 128, means: []string{"https://github.com"}},
		{row: "ssh-host", wrote: "Host key verification failed.", exit: 255},
		{row: "ssh-key", wrote: "me@host: Permission denied (publickey,password).", exit: 255, means: []string{"me@host"}},
		{row: "sudo", wrote: "sudo: a terminal is required to read the password; either use the -S option to read from standard input or configure an askpass helper"},
		{row: "docker-container", wrote: "Error response from daemon: No such container: mcp", means: []string{"mcp does not run"}},
		{row: "docker-container", wrote: "Error response from daemon: container 4fa is not running"},
		{row: "port", wrote: "docker: Error response from daemon: driver failed programming external connectivity on endpoint x: Bind for 0.0.0.0:8080 failed: port is already allocated.", exit: 125, means: []string{"port 8080"}},
		{row: "google-credentials", wrote: "google.auth.exceptions.DefaultCredentialsError: Your default credentials were not found. To set up Application Default Credentials, see https://cloud.google.com/docs"},
		{row: "aws-credentials", wrote: "botocore.exceptions.NoCredentialsError: Unable to locate credentials", do: []string{"AWS_PROFILE"}},
		{row: "aws-sso", wrote: "botocore.exceptions.SSOTokenLoadError: Error loading SSO Token: Token for default does not exist", do: []string{"aws sso login"}},
		{row: "kubeconfig", wrote: "error: invalid configuration: no configuration has been provided, try setting KUBERNETES_MASTER environment variable", do: []string{"KUBECONFIG"}},
		{row: "login-failed", wrote: `error: password authentication failed for user "postgres"`, means: []string{"postgres"}},
		{row: "read-only", wrote: "OSError: [Errno 30] Read-only file system: 'logs'", means: []string{"logs"}, do: []string{"cwd"}},
		{row: "read-only", wrote: "Error: EROFS: read-only file system, open '/server.log'", means: []string{"/server.log"}},
		{row: "", wrote: "thread 'main' panicked at src/main.rs:12:34:\ncalled `Result::unwrap()` on an `Err` value: NotPresent\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace", exit: 101},
		{row: "endless", exit: alive, endless: true, late: true, do: []string{"newline"}},
		{row: "killed", signal: "killed", means: []string{"SIGKILL"}},
		{row: "killed", exit: 137},
		{row: "crashed", signal: "segmentation fault"},
		{row: "shell-not-found", wrote: "something in another language", exit: 127},
		{row: "shell-not-executable", exit: 126},
		{row: "bridge", wrote: "[1] Connecting to remote server: http://127.0.0.1:1/mcp\n[1] Fatal error: TypeError: fetch failed\n  [cause]: Error: bad port", server: config.Server{Command: "npx", Args: []string{"-y", "mcp-remote@latest", "http://127.0.0.1:1/mcp"}}, means: []string{"a bridge to http://127.0.0.1:1/mcp"}, do: []string{"mcpctl doctor http://127.0.0.1:1/mcp"}},
		{row: "", wrote: "Connecting to the server http://127.0.0.1:1/mcp\nno luck", server: config.Server{Command: "notes", Args: []string{"http://127.0.0.1:1/mcp"}}},
		{row: "silent-end", exit: zero, means: []string{"without a word"}, do: []string{"--stdio"}},
		{row: "talked-and-ended", wrote: "hello", exit: zero, means: []string{"without an error"}},
		{row: "late", exit: alive, late: true, do: []string{"PYTHONUNBUFFERED"}},
		{row: "garbled", wrote: "{\x00\"\x00j\x00s\x00o\x00n\x00", exit: alive, means: []string{"UTF-16"}},
		{row: "", wrote: "INFO starting, workspace is /srv", exit: alive},
		// A command that is to be typed is typed as it is.
		{row: "http-server", wrote: "Server listening on http://localhost:3000/mcp?a=1&b=`id`", exit: alive, do: []string{"mcpctl doctor 'http://localhost:3000/mcp?a=1&b=`id`';"}},
		{row: "bridge", wrote: "no luck", server: config.Server{Command: "mcp-remote", Args: []string{"http://127.0.0.1:1/mcp?a=1&b=2"}}, do: []string{"mcpctl doctor 'http://127.0.0.1:1/mcp?a=1&b=2'"}},
		{row: "rights", wrote: "PermissionError: [Errno 13] Permission denied: '/srv/my notes'", do: []string{"ls -l '/srv/my notes'"}},
		// What sounds like a symptom, and proves nothing: it is shown as the server says it.
		{row: "own-words", wrote: "  File \"/srv/a.py\", line 3\n    x = 0123\n           ^\nSyntaxError: invalid token"},
		{row: "", wrote: "config.toml:3: unknown token ]"},
		{row: "own-words", wrote: "TypeError: boom\nSet DEBUG_LEVEL=1 to see more"},
		{row: "own-words", wrote: "TypeError: boom\nTo disable this warning, set NO_TELEMETRY_HINT"},
		{row: "own-words", wrote: "Usage statistics are collected, see the manual\nTypeError: boom"},
		{row: "own-words", wrote: "Using the API server at http://localhost:9200\nTypeError: boom"},
		{row: "", wrote: "Waiting for the server at http://localhost:9200 to be ready", exit: alive},
		{row: "own-words", wrote: "Failed to open http://localhost:9200/_cluster"},
		{row: "own-words", wrote: "Error: Token does not exist"},
		{row: "own-words", wrote: "ExpiredTokenError: jwt"},
		{row: "own-words", wrote: "error: Request failed after 3 retries", server: config.Server{Command: "notes"}},
		{row: "python-dict", wrote: "{'jsonrpc': '2.0', 'id': 1, 'result': {}}", exit: alive, do: []string{"json.dumps"}},
		{row: "encoded-twice", wrote: `"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"`, exit: alive, means: []string{"encoded twice"}},
		{row: "downloading", wrote: "Unable to find image 'mcp/notes:latest' locally\nlatest: Pulling from mcp/notes\n3f4a12bc9f01: Pulling fs layer", exit: alive, do: []string{"docker pull", "--connect-timeout"}},
		{row: "downloading", wrote: "Downloading numpy (15.8MiB)", exit: alive},
		{row: "module-file", wrote: `error: Module not found "file:///srv/main.ts".`, means: []string{"/srv/main.ts does not"}},
		{row: "cargo-project", wrote: "error: could not find `Cargo.toml` in `/srv` or any parent directory", exit: 101, do: []string{"cwd"}},
		{row: "dotnet-sdk", wrote: "The command could not be loaded, possibly because:\n  * You intended to execute a .NET SDK command:\n      No .NET SDKs were found.", exit: 145, do: []string{"SDK"}},
		{row: "corepack-keys", wrote: `Error: Cannot find matching keyid: {"signatures":[]}`, do: []string{"corepack@latest"}},
		{row: "php-function", wrote: "PHP Fatal error:  Uncaught Error: Call to undefined function mb_strlen() in /srv/x.php:3", exit: 255, means: []string{"mb_strlen"}},
		{row: "macos-privacy", wrote: "Error: EPERM: operation not permitted, scandir '/Users/me/Documents'", means: []string{"/Users/me/Documents"}},
		{row: "not-commands", wrote: "unknown command: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}", means: []string{"commands of its own"}},
		{row: "not-commands", wrote: "bash: line 1: {\"jsonrpc\":\"2.0\",\"id\":1,: command not found", exit: 127, means: []string{"commands of its own"}},
		{row: "own-words", wrote: "panic: runtime error: index out of range [1] with length 1", exit: 2},
		{row: "own-words", wrote: "panic: runtime error: index out of range [1] with length 1\n\ngoroutine 1 [running]:\nmain.mustRequired(...)\n\t/srv/main.go:7\nmain.main()\n\t/srv/main.go:4 +0x1d", exit: 2, means: []string{`says "panic: runtime error: index out of range`}, do: []string{"-v"}},
		{row: "own-words", wrote: "Error: Missing account ID. Usage: npx notes run [id]", exit: zero, means: []string{`says "Error: Missing account ID. Usage`}},
		{row: "own-words", wrote: "Server error: [\n  {\n    \"code\": \"invalid_string\",\n    \"message\": \"Invalid URL format\",\n    \"path\": [\n      \"url\"\n    ]\n  }\n]", means: []string{`says "Invalid URL format"`}},
		{row: "own-words", wrote: "ready\nError: keys file not found. Please place keys.json in the current directory\n    at Object.<anonymous> (/srv/failed.js:1:7)\nbye", means: []string{`says "Error: keys file not found.`}},
		{row: "usage", wrote: "Error: no directory\nUsage: notes DIR", means: []string{`says "Error: no directory", and how it is used`}},
		{row: "", wrote: "loading\nbye", exit: 1},
	}
}

func TestEachSymptom(t *testing.T) {
	shown := map[string]bool{}
	for _, x := range seenSymptoms() {
		shown[x.row] = true
		t.Run(x.row, func(t *testing.T) {
			r := remains{
				server: x.server, late: x.late, endless: x.endless,
				env:  []string{"PATH=/nowhere", "MY_EMPTY=", "MY_GIVEN=value"},
				ours: []string{"PATH=/nowhere", "HOME=/nowhere", "MY_OURS=value"},
			}
			switch {
			case x.signal != "":
				r.exit = &transport.Exit{Status: -1, Signal: x.signal}
			case x.exit == zero:
				r.exit = &transport.Exit{}
			case x.exit != alive:
				r.exit = &transport.Exit{Status: max(x.exit, 1)}
			}
			r.quiet, r.garbled = x.wrote == "", transport.Wide(x.wrote)
			for line := range strings.Lines(x.wrote) {
				r.lines = append(r.lines, transport.Plain(line))
			}
			r.complaints = r.lines
			row, means, do := r.diagnose()
			if row != x.row {
				t.Fatalf("%q is %q: %s", x.wrote, row, means)
			}
			if row != "" && (means == "" || do == "") || strings.Contains(strings.ReplaceAll(means+do, "${MY_OURS}", ""), "${") {
				t.Errorf("means %q, do %q", means, do)
			}
			for _, w := range x.means {
				if !strings.Contains(means, w) {
					t.Errorf("%q does not say %q", means, w)
				}
			}
			for _, w := range x.do {
				if !strings.Contains(do, w) {
					t.Errorf("%q does not say %q", do, w)
				}
			}
		})
	}
	for _, s := range symptoms() {
		if !shown[s.id] {
			t.Errorf("no text shows the row %s: %s", s.id, s.about)
		}
	}
	if ids := symptoms(); len(ids) != len(slices.CompactFunc(slices.Clone(ids), func(a, b symptom) bool { return a.id == b.id })) {
		t.Error("a row is there twice")
	}
}

// TestErrorOfWhatStandsBehind shows that an error of a server about its own way to something is told from one of its work.
func TestErrorOfWhatStandsBehind(t *testing.T) {
	t.Parallel()
	for message, hint := range map[string]bool{
		"fetch failed": true,
		"Tavily API error: getaddrinfo ENOTFOUND api.example.com": true,
		"connect ECONNREFUSED 127.0.0.1:5432":                     true,
		"dial tcp: lookup db.internal: no such host":              true,
		"no tool of that name":                                    false,
		"the connection was refused by the reviewer":              false,
	} {
		e := classify(evidence{state: answer(http.StatusOK, true, message), opened: true})
		if (e.Hint != "") != hint {
			t.Errorf("%q: hint %q", message, e.Hint)
		}
	}
}
