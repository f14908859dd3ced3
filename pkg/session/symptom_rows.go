package session

import "strings"

// More rows of the table of symptoms, by what they are about: see symptom.go.

// builtForSymptoms are about what was built, or installed, for something else than what runs it.
func builtForSymptoms() []symptom {
	return []symptom{
		{
			id: "node-old", about: "a program for a newer Node.js",
			text:  lazily(`Cannot find module 'node:|SyntaxError: Unexpected token '?(?:\?\?=|\|\|=|&&=|\?\.|\?\?|\?)'?$|No such built-in module: node:`),
			means: "this Node.js is too old for the server", do: "use Node.js 22 or newer: the PATH in env, or the full path of its node or npx",
		},
		{
			id: "npx-old", about: "an npx that does not know the command line",
			text:  lazily(`^ERROR: You must supply a command\.`),
			means: "this npx is one of npm 6 or older, and does not understand the arguments", do: "use Node.js 22 or newer: the PATH in env, or the full path of its npx",
		},
		{
			id: "node-abi", about: "a native part for another Node.js",
			text:  lazily(`was compiled against a different Node\.js version|NODE_MODULE_VERSION \d+`),
			means: "a native part of the server was built for another version of Node.js",
			do:    "build it for the one that starts it: npm rebuild in the directory of the server; behind npx: remove ~/.npm/_npx",
		},
		{
			id: "node-native", about: "a native part that is missing",
			text:  lazily(`Could not locate the bindings file|Cannot find module '?@?[\w./-]+-(?:linux|darwin|win32)-[\w-]+'?\. npm has a bug`),
			means: "a native part of the server is missing for this machine", do: "install the server on this machine again: rm -r node_modules package-lock.json && npm install",
		},
		{
			id: "npm-cache", about: "a cache of npm that is broken",
			text:  lazily(`npm (?:error|ERR!) code (?P<code>ENOTEMPTY|EINTEGRITY|ECOMPROMISED)`),
			means: "what npm has in its cache is broken, or two of it write there at once ($code)", do: "remove ~/.npm/_npx, then: npm cache verify",
		},
		{
			id: "uv-python-version", about: "a project that wants another Python",
			text:  lazily(`requested interpreter resolved to Python (?P<have>\S+?),? which is incompatible with the project['’s]*\s*(?:Python )?requirement: ` + "`?" + `(?P<want>[^` + "`" + `\s]+)`),
			means: "it wants Python $want, and $have is chosen", do: "choose another: uv run --python 3.12 …, or uv python install 3.12",
		},
		{
			id: "uv-project", about: "a directory without a project",
			text:  lazily("No `?pyproject\\.toml`? found in current directory"),
			means: "uv finds no project in the directory in which it is started", do: "name it: uv --directory DIR run …, or set cwd",
		},
		{
			id: "uv-build", about: "a package that cannot be built",
			text:  lazily("Failed to (?:build|download and build) `?(?P<name>[^`\\s]+)"),
			means: "uv cannot build the package $name on this machine", do: "read what uv says: often a compiler or a header is missing, or there is no build for this Python (uvx --python 3.12 …)",
		},
		{
			id: "dotnet-version", about: "a .NET that is not installed",
			text:  lazily(`You must install or update \.NET to run this application`),
			means: "it needs a version of .NET that is not installed", do: "install the one that it names: dotnet --list-runtimes shows those that are there",
		},
		{
			id: "docker-entry", about: "a program that an image does not have",
			text:  lazily(`OCI runtime (?:create|exec) failed.*exec: "(?P<name>[^"]+)": (?:executable file not found|stat .*no such file)`),
			means: "the image has no program $name", do: "correct what stands behind the image in args: it is run inside the container",
		},
		{
			id: "module-file", about: "a script that Deno or Bun does not find",
			text:  lazily(`^error: Module not found "(?:file://)?(?P<path>/[^"]+)"`),
			means: "the file $path does not exist", do: "correct the path in args, or build the server first",
		},
		{
			id: "cargo-project", about: "a directory without a project of Rust",
			text:  lazily("could not find `Cargo\\.toml` in `(?P<path>[^`]+)`"),
			means: "cargo finds no project in $path, where it is started", do: "set cwd, or add --manifest-path FILE behind cargo run",
		},
		{
			id: "dotnet-sdk", about: "a .NET without its SDK",
			text:  lazily(`No \.NET SDKs were found`),
			means: "dotnet run needs the SDK of .NET, and only its runtime is installed", do: "install the SDK, or start the built program: dotnet FILE.dll",
		},
		{
			id: "corepack-keys", about: "a corepack that is too old",
			text:  lazily(`Cannot find matching keyid`),
			means: "this corepack is too old to check what it downloads", do: "npm install -g corepack@latest, or COREPACK_INTEGRITY_KEYS=0 in env",
		},
		{
			id: "watchers", about: "a limit of watched files",
			text:  lazily(`System limit for number of file watchers|inotify watch limit|EMFILE|[Tt]oo many open files`),
			means: "it may not watch, or open, more files", do: "raise the limit (ulimit -n; Linux: sysctl fs.inotify.max_user_watches), or have it watch less",
		},
	}
}

// managerSymptoms are about what chooses versions of programs.
func managerSymptoms() []symptom {
	return []symptom{
		{
			id: "pyenv", about: "a program that the chosen Python does not have",
			text:  lazily(`^pyenv: (?P<name>\S+): command not found`),
			means: "the Python that pyenv chooses here has no $name", do: "give the full path of the one that has it, or PYENV_VERSION in env",
		},
		{
			id: "version-unset", about: "a version that nobody has chosen",
			text:  lazily(`^(?:No version is set for command|No preset version installed for command|asdf: No version set for command) (?P<name>\S+)|(?P<name>mise) ERROR No version is set for shim`),
			means: "asdf or mise has no version for $name in this directory", do: "set one for the home directory (asdf set --home …, mise use -g …), set cwd to where there is one, or give the full path",
		},
		{
			id: "mise-trust", about: "a configuration that mise does not trust",
			text:  lazily(`Config files? in (?P<path>\S+) (?:are|is) not trusted`),
			means: "mise does not trust the configuration at $path", do: "mise trust, once, in that directory",
		},
		{
			id: "volta", about: "a tool that Volta does not have",
			text:  lazily(`Volta error: (?P<what>.+?)\.?$`),
			means: "Volta: $what", do: "volta install node, or give the full path of another",
		},
		{
			id: "conda", about: "an environment of conda that is not there",
			text:  lazily(`EnvironmentLocationNotFound: Not a conda environment: (?P<path>\S+)|EnvironmentNameNotFound: Could not find conda environment: (?P<path>\S+)`),
			means: "conda has no environment $path", do: "correct its name: conda env list",
		},
		{
			id: "conda-activate", about: "an environment that cannot be switched to",
			text:  lazily(`Run 'conda init' before 'conda activate'`),
			means: "conda activate works in shells only", do: "start the Python of the environment by its full path, or conda run -n NAME --no-capture-output COMMAND",
		},
		{
			id: "wsl", about: "Windows without its Linux",
			text:  lazily(`Windows Subsystem for Linux has no installed distributions`),
			means: "there is no Linux in WSL", do: "wsl --install, or name another distribution: wsl -d NAME",
		},
	}
}

// languageSymptoms are about programs in other languages than those that have rows of their own.
func languageSymptoms() []symptom {
	return []symptom{
		{
			id: "python-relative", about: "a module that is started as a script",
			text:  lazily(`ImportError: attempted relative import with no known parent package`),
			means: "a part of a package is started as a script of its own", do: "start it as a module: python -m PACKAGE.MODULE, with cwd at the directory above the package",
		},
		{
			id: "python-asyncio", about: "an event loop in an event loop",
			text:  lazily(`RuntimeError: (?:Already running asyncio in this thread|asyncio\.run\(\) cannot be called from a running event loop)`),
			means: "the server starts its event loop inside of another one", do: "call run() outside of async code, or await run_stdio_async()",
		},
		{
			id: "python-encoding", about: "text that cannot be written",
			text:  lazily(`UnicodeEncodeError: '(?P<name>[\w-]+)' codec can't encode`),
			means: "it writes text as $name, and MCP is UTF-8", do: "PYTHONUTF8=1 in env",
		},
		{
			id: "python-version", about: "a package of another version",
			text:  lazily(`TypeError: \w*MCP\S* got an unexpected keyword argument '(?P<what>[^']+)'|AttributeError: module '(?:mcp|fastmcp)[\w.]*' has no attribute '(?P<what>[^']+)'`),
			means: "the installed package of MCP has no $what: it is of another version than the server needs", do: "install the version that the server wants: see its requirements",
		},
		{
			id: "python-settings", about: "a setting that is missing",
			text: lazily(`^\s*(?:Field required|Input should be|Value error).*\[type=(?P<kind>\w+)`),
			fits: func(r remains) bool { return r.mentions(`validation errors? for`) },
			says: func(r remains, part func(string) string) (string, string) {
				name := r.before(`^\s*(?:Field required|Input should be|Value error).*\[type=`)
				if name == "" || strings.ContainsAny(name, " :[") {
					return "", ""
				}
				if part("kind") == "missing" {
					return "its settings lack " + name, "give it in env, often as " + strings.ToUpper(name) + ", or in args"
				}
				return "its setting " + name + " is not of the right form", "correct it in env, often " + strings.ToUpper(name) + ", or in args"
			},
		},
		{
			id: "ruby-gem", about: "a gem that is not installed",
			text: lazily(`cannot load such file -- (?P<name>\S+)|Could not find gem '(?P<name>[^'\s]+)`),
			says: func(_ remains, part func(string) string) (string, string) {
				return `the gem or file "` + part("name") + `" is not installed`, "bundle install in the directory of the server, or gem install"
			},
		},
		{
			id: "php-autoload", about: "packages of PHP that are not installed",
			text:  lazily(`Failed opening required '(?P<path>[^']*autoload\.php)'`),
			means: "the packages of the server are not installed ($path)", do: "composer install in the directory of the server",
		},
		{
			id: "php-function", about: "a part of PHP that is not installed",
			text:  lazily(`Call to undefined function (?P<name>(?:curl|mb|json|simplexml|iconv|openssl|sodium|mysqli|pg|intl)_\w+)\(\)`),
			means: "this PHP lacks the function $name: an extension is not installed", do: "install it: php -m shows those that are there",
		},
		{
			id: "java-manifest", about: "a jar that cannot be started",
			text: lazily(`no main manifest attribute, in (?P<path>\S+)|Invalid or corrupt jarfile (?P<path>\S+)`),
			says: func(_ remains, part func(string) string) (string, string) {
				return part("path") + " is no jar that can be started", "build the one with all dependencies (often *-all.jar, or of target/), or name the main class: java -cp FILE CLASS"
			},
		},
		{
			id: "deno-permission", about: "a permission that Deno wants",
			text:  lazily(`Requires (?P<what>\w+ access to [^,]+), run again with the (?P<flag>--allow-\w+) flag`),
			means: "Deno wants a permission: $what", do: "add $flag before the script: deno run $flag FILE",
		},
		{
			id: "browser", about: "a browser that is not installed",
			text:  lazily(`Executable doesn't exist at (?P<path>\S+)|Please run the following command to download new browsers|Could not find (?:Chrome|Chromium|Firefox)`),
			means: "the browser that it drives is not installed", do: "npx playwright install, or npx puppeteer browsers install chrome",
		},
	}
}

// accessSymptoms are about what does not let the server, or its installer, in.
func accessSymptoms() []symptom {
	return []symptom{
		{
			id: "git-access", about: "a repository that is not given out",
			text:  lazily(`fatal: could not read (?:Username|Password) for '(?P<url>[^']+)'|fatal: repository '?(?P<url>[^'\s]+)'? not found`),
			means: "git does not get the repository at $url: it does not exist, or is private", do: "correct the address, or log in: gh auth login, or an SSH key and git+ssh://",
		},
		{
			id: "macos-privacy", about: "a directory that macOS guards",
			text:  lazily(`(?:EPERM: operation not permitted|Operation not permitted|PermissionError: \[Errno 1\]).*?(?P<path>/Users/[^/'"]+/(?:Documents|Desktop|Downloads|Library)\b)`),
			means: "macOS does not let this program into $path", do: "allow it for the program that starts the server: System Settings, Privacy & Security, Files and Folders",
		},
		{
			id: "ssh-host", about: "a host that ssh does not know",
			text:  lazily(`Host key verification failed`),
			means: "ssh does not know the key of the host, and can ask nobody", do: "connect once by hand, and compare the key",
		},
		{
			id: "ssh-key", about: "a host that does not let ssh in",
			text:  lazily(`(?P<who>\S*): ?Permission denied \((?:publickey|password|keyboard-interactive)`),
			means: "the host does not let ssh in ($who)", do: "give it a key that needs no passphrase typed: ssh-add, or -i FILE; try ssh -o BatchMode=yes by hand",
		},
		{
			id: "sudo", about: "a password that nobody types",
			text:  lazily(`sudo: (?:a terminal is required to read the password|a password is required)`),
			means: "sudo asks for a password, and nobody can type it", do: "start the server without sudo, or allow this command without a password in sudoers",
		},
		{
			id: "docker-container", about: "a container that does not run",
			text:  lazily(`Error response from daemon: No such container: (?P<name>\S+)|[Cc]ontainer (?P<name>\S+) is not running`),
			means: "the container $name does not run", do: "start it (docker start NAME; docker ps -a shows all), or start one for this: docker run -i --rm IMAGE",
		},
		{
			id: "google-credentials", about: "credentials for Google Cloud",
			text:  lazily(`[Dd]efault credentials were not found|Could not load the default credentials`),
			means: "it finds no credentials for Google Cloud", do: "gcloud auth application-default login, or GOOGLE_APPLICATION_CREDENTIALS in env",
		},
		{
			id: "aws-credentials", about: "credentials for AWS",
			text:  lazily(`Unable to locate credentials|NoCredentialsError|Could not load credentials from any providers|CredentialsProviderError`),
			means: "it finds no credentials for AWS", do: "aws configure, or AWS_PROFILE in env: variables of AWS are not passed on by themselves",
		},
		{
			id: "aws-sso", about: "a login for AWS that has ended",
			text:  lazily(`Error loading SSO Token|SSO session .*(?:expired|invalid)|Token for \S+ does not exist|\bExpiredToken(?:Exception)?\b`),
			means: "the login for AWS has ended", do: "aws sso login, with the profile of AWS_PROFILE",
		},
		{
			id: "kubeconfig", about: "a cluster that is not configured",
			text:  lazily(`invalid configuration: no configuration has been provided|kubeconfig.*no such file`),
			means: "it finds no configuration of a Kubernetes cluster", do: "KUBECONFIG in env, or ~/.kube/config",
		},
		{
			id: "login-failed", about: "a database that does not let it in",
			text:  lazily(`password authentication failed for user "?(?P<who>[^"\s]+)|Access denied for user '?(?P<who>[^'\s]+)|Login failed for user '?(?P<who>[^'\s]+)`),
			means: "a database does not let in the user $who", do: "check the user and the password that the entry gives it in env or args",
		},
	}
}

// before returns the line above the last one that matches an expression, "" if there is none.
func (r remains) before(expr string) string {
	re := lazily(expr)()
	above := ""
	for i, line := range r.lines {
		if i > 0 && re.MatchString(line) {
			above = strings.TrimSpace(r.lines[i-1])
		}
	}
	return above
}
