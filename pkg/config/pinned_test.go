package config

import (
	"strings"
	"testing"
)

// TestPackages holds what commands fetch, and which version of it; each ¦ divides words. A "+" before a package says that it
// is pinned, and behind a "→" stands how it would be.
func TestPackages(t *testing.T) {
	const commit = "0123456789abcdef0123456789abcdef01234567"
	const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for command, want := range map[string]string{
		`npx¦-y¦server`:                                     "npx server→server@VERSION",
		`npx¦server@latest`:                                 "npx server@latest→server@VERSION",
		`npx¦-y¦@scope/server¦/data`:                        "npx @scope/server→@scope/server@VERSION",
		`npx¦--yes¦@scope/server@1.2.3¦x`:                   "+npx @scope/server@1.2.3",
		`npx¦@scope/server@2025.11.25-rc.1`:                 "+npx @scope/server@2025.11.25-rc.1",
		`npx¦-y¦server@^1.2.3`:                              "npx server@^1.2.3→server@VERSION",
		`npx¦-y¦server@1`:                                   "npx server@1→server@VERSION",
		`npx¦-p¦typescript@5.0.0¦--package=@s/x¦run`:        "+npx typescript@5.0.0, npx @s/x→@s/x@VERSION",
		`npx¦--registry¦https://r.example¦server`:           "npx server→server@VERSION",
		`npx¦-y¦--¦server`:                                  "npx server→server@VERSION",
		`npx¦github:user/repo`:                              "npx github:user/repo→github:user/repo#COMMIT",
		`npx¦github:user/repo#` + commit:                    "+npx github:user/repo#" + commit,
		`npx¦user/repo#main`:                                "npx user/repo#main→user/repo#COMMIT",
		`npx¦git+https://git.example/x.git#v1.0.0`:          "npx git+https://git.example/x.git#v1.0.0→git+https://git.example/x.git#COMMIT",
		`npx¦alias@npm:@s/other@1.2.3`:                      "+npx alias@npm:@s/other@1.2.3",
		`npx¦./local`:                                       "",
		`npx¦-y¦${PACKAGE}`:                                 "",
		`npx¦https://x.example/a.tgz`:                       "",
		`npx`:                                               "",
		`cmd¦/c¦npx¦-y¦server`:                              "npx server→server@VERSION",
		`bash¦-lc¦source x; exec npx -y "@s/x@latest" /`:    "npx @s/x@latest→@s/x@VERSION",
		`env¦A=b¦npx¦server`:                                "npx server→server@VERSION",
		`npm¦exec¦--yes¦server`:                             "npm exec server→server@VERSION",
		`pnpm¦dlx¦server`:                                   "pnpm dlx server→server@VERSION",
		`bunx¦--bun¦server@1.0.0`:                           "+bunx server@1.0.0",
		`bun¦x¦server`:                                      "bun x server→server@VERSION",
		`bun¦run¦server.ts`:                                 "",
		`uvx¦mcp-server-fetch`:                              "uvx mcp-server-fetch→mcp-server-fetch==VERSION",
		`uvx¦--python¦3.12¦mcp-server-fetch@latest¦--x`:     "uvx mcp-server-fetch@latest→mcp-server-fetch==VERSION",
		`uvx¦mcp-server-fetch@1.2`:                          "+uvx mcp-server-fetch@1.2",
		`uvx¦mcp-server-fetch==2025.4.7`:                    "+uvx mcp-server-fetch==2025.4.7",
		`uvx¦--from¦mcp[cli]>=1.2¦mcp`:                      "uvx mcp[cli]>=1.2→mcp[cli]==VERSION",
		`uvx¦--from=x==1.*¦x`:                               "uvx x==1.*→x==VERSION",
		`uvx¦--from¦git+https://git.example/u/x¦x`:          "uvx git+https://git.example/u/x→git+https://git.example/u/x@COMMIT",
		`uvx¦--from¦git+https://git.example/u/x@a/b¦x`:      "uvx git+https://git.example/u/x@a/b→git+https://git.example/u/x@COMMIT",
		`uvx¦--from¦git+ssh://git@git.example/u/x.git¦x`:    "uvx git+ssh://git@git.example/u/x.git→git+ssh://git@git.example/u/x.git@COMMIT",
		`uvx¦--from¦git+https://git.example/u/x@` + commit:  "+uvx git+https://git.example/u/x@" + commit,
		`uvx¦--from¦/home/me/x¦x`:                           "",
		`uvx¦./x`:                                           "",
		`uv¦tool¦run¦x`:                                     "uv tool run x→x==VERSION",
		`uv¦run¦server.py`:                                  "",
		`pipx¦run¦--spec¦x==1.0¦x`:                          "+pipx run x==1.0",
		`pipx¦run¦x`:                                        "pipx run x→x==VERSION",
		`docker¦run¦-i¦--rm¦mcp/fetch`:                      "docker run mcp/fetch→mcp/fetch:VERSION",
		`docker¦run¦-i¦--rm¦mcp/fetch:latest`:               "docker run mcp/fetch:latest→mcp/fetch:VERSION",
		`docker¦run¦-itv¦/a:/b¦-e¦A=b:c¦mcp/fetch:1.2`:      "+docker run mcp/fetch:1.2",
		`docker¦run¦-eA=b¦--name¦x¦r.example:5000/mcp`:      "docker run r.example:5000/mcp→r.example:5000/mcp:VERSION",
		`docker¦run¦--mount=type=bind,src=/,dst=/x¦a:1¦b:2`: "+docker run a:1",
		`docker¦run¦r.example:5000/mcp@` + digest:           "+docker run r.example:5000/mcp@" + digest,
		`docker¦run¦${IMAGE}`:                               "",
		`docker¦mcp¦gateway¦run`:                            "",
		`node¦index.js`:                                     "",
		``:                                                  "",
	} {
		var got []string
		for _, p := range dangerServer(command).Packages() {
			text := p.Runner + " " + p.Text
			if p.Pinned {
				text = "+" + text
			} else {
				text += "→" + p.Example
			}
			if p.Place == "" {
				t.Errorf("%s: no place", command)
			}
			got = append(got, text)
		}
		if g := strings.Join(got, ", "); g != want {
			t.Errorf("%s:\n got %s\nwant %s", command, g, want)
		}
	}
}
