package toolargs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// wide has a parameter of every kind.
const wide = `{
	"type": "object",
	"properties": {
		"s": {"type": "string", "description": "A text"},
		"i": {"type": "integer", "description": "A count"},
		"n": {"type": "number", "description": "First addend"},
		"b": {"type": "boolean"},
		"z": {"type": "null"},
		"tags": {"type": "array", "items": {"type": "string"}},
		"nums": {"type": "array", "items": {"type": "number"}},
		"grid": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
		"pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]},
		"list": {"type": "array"},
		"o": {"type": "object", "properties": {
			"limit": {"type": "integer"}, "name": {"type": "string"},
			"in": {"type": "object", "properties": {"x": {"type": "number"}, "x.y": {"type": "string"}}}}},
		"any": {},
		"sn": {"type": ["string", "null"]},
		"in": {"type": ["integer", "null"]},
		"bn": {"type": ["number", "boolean", "null"]},
		"ai": {"type": ["array", "integer"], "items": {"type": "integer"}},
		"so": {"anyOf": [{"type": "string"}, {"type": "object"}]},
		"st": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
		"io": {"oneOf": [{"type": "integer"}, {"type": "object"}]},
		"e": {"enum": [1, 2, "auto", null]},
		"auto": {"anyOf": [{"const": "auto"}, {"type": "integer"}]},
		"r": {"$ref": "#/$defs/count"},
		"rs": {"$ref": "#/$defs/loop"},
		"far": {"$ref": "https://example.com/schema.json"},
		"a.b": {"type": "integer"},
		"ids[]": {"type": "string"},
		"k:v": {"type": "string"},
		"untyped": {"properties": {"x": {"type": "integer"}}},
		"maybe": {"type": "integer", "nullable": true},
		"odd": {"type": "file"}
	},
	"$defs": {
		"count": {"type": "integer", "minimum": 0},
		"loop": {"$ref": "#/$defs/loop2"},
		"loop2": {"$ref": "#/$defs/loop"}
	}
}`

// files is a source with a few files and some standard input.
func files() Source {
	content := map[string]string{
		"note.txt": "two\nlines\n",
		"seven":    "7\n",
		"data":     "\ufeff{\"a\": 1.50,\n \"b\": [1]}\n",
		"args":     `{"s": "from file", "i": 9007199254740993}`,
		"broken":   "{\n  \"a\": 1,\n  b\n}",
		"binary":   "\xff\xfe",
		"twice":    `{"a": {"x": 1, "x": 2}}`,
	}
	return Source{
		ReadFile: func(name string) ([]byte, error) {
			text, ok := content[name]
			if !ok {
				return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
			}
			return []byte(text), nil
		},
		Stdin: strings.NewReader(`{"s": "from stdin"}`),
	}
}

func TestBuildMakes(t *testing.T) {
	for _, c := range []struct {
		rule   string
		words  []string
		args   string
		schema string // wide, if empty
		want   string
	}{
		{rule: "nothing is the empty object", want: `{}`},
		{rule: "text of a string parameter stays text", words: []string{"s=7"}, want: `{"s":"7"}`},
		{rule: "text of a string parameter is not read as JSON", words: []string{`s={"a":1}`}, want: `{"s":"{\"a\":1}"}`},
		{rule: "an empty value is the empty string", words: []string{"s="}, want: `{"s":""}`},
		{rule: "values hold anything", words: []string{"s=a=b&c \"d\"\n<é>"}, want: `{"s":"a=b&c \"d\"\n<é>"}`},
		{rule: "a second equals sign is the value's", words: []string{"s==x"}, want: `{"s":"=x"}`},
		{rule: "an integer", words: []string{"i=7"}, want: `{"i":7}`},
		{rule: "a negative number is no flag", words: []string{"i=-2"}, want: `{"i":-2}`},
		{rule: "digits are kept: 2^53+1", words: []string{"i=9007199254740993"}, want: `{"i":9007199254740993}`},
		{rule: "digits are kept: 1e400", words: []string{"n=1e400"}, want: `{"n":1e400}`},
		{rule: "digits are kept: zeros", words: []string{"n=0.1000"}, want: `{"n":0.1000}`},
		{rule: "digits are kept: -0.0", words: []string{"n=-0.0"}, want: `{"n":-0.0}`},
		{rule: "3.0 is an integer and stays 3.0", words: []string{"i=3.0"}, want: `{"i":3.0}`},
		{rule: "a fraction stays a number for an integer", words: []string{"i=3.5"}, want: `{"i":3.5}`},
		{rule: "text that is no number stays text", words: []string{"i=1_000", "n=+5"}, want: `{"i":"1_000","n":"+5"}`},
		{rule: "a number with spaces stays text", words: []string{"n= 5"}, want: `{"n":" 5"}`},
		{rule: "a boolean", words: []string{"b=true"}, want: `{"b":true}`},
		{rule: "null where it is allowed", words: []string{"z=null", "in=null"}, want: `{"z":null,"in":null}`},
		{rule: "null is text where a string is", words: []string{"sn=null"}, want: `{"sn":"null"}`},
		{rule: "OpenAPI's nullable", words: []string{"maybe=null"}, want: `{"maybe":null}`},
		{rule: "the first type that fits", words: []string{"bn=true"}, want: `{"bn":true}`},
		{rule: "the first type that fits: number", words: []string{"bn=1.0"}, want: `{"bn":1.0}`},
		{rule: "no type: the text", words: []string{"any=7", "far=7", "rs=true", "odd=1"}, want: `{"any":"7","far":"7","rs":"true","odd":"1"}`},
		{rule: "a string among the types: the text", words: []string{`so={"a":1}`, `st=["a"]`}, want: `{"so":"{\"a\":1}","st":"[\"a\"]"}`},
		{rule: "JSON where no string is allowed", words: []string{`io={"a": 1}`}, want: `{"io":{"a":1}}`},
		{rule: "an enumeration decides", words: []string{"e=1"}, want: `{"e":1}`},
		{rule: "an enumeration decides: text", words: []string{"e=auto"}, want: `{"e":"auto"}`},
		{rule: "an enumeration decides: null", words: []string{"e=null"}, want: `{"e":null}`},
		{rule: "a value outside an enumeration stays text", words: []string{"e=3"}, want: `{"e":"3"}`},
		{rule: "an alternative that only a number fits", words: []string{"auto=5"}, want: `{"auto":5}`},
		{rule: "a reference into the document", words: []string{"r=7"}, want: `{"r":7}`},
		{rule: "a missing schema types nothing", schema: "null", words: []string{"a=7", "b.c=1"}, want: `{"a":"7","b":{"c":"1"}}`},
		{rule: "properties without a type mean an object", words: []string{`untyped={"x":1}`}, want: `{"untyped":{"x":1}}`},

		{rule: "a list from JSON", words: []string{`nums=[1, 2.50]`}, want: `{"nums":[1,2.50]}`},
		{rule: "a list from its first item", words: []string{"tags=a"}, want: `{"tags":["a"]}`},
		{rule: "a repeated key appends", words: []string{"tags=a", "tags=1", "s=x", "tags=c,d"}, want: `{"tags":["a","1","c,d"],"s":"x"}`},
		{rule: "a repeated key appends typed items", words: []string{"nums=1", "nums=2.0"}, want: `{"nums":[1,2.0]}`},
		{rule: "a repeated key appends the items of a JSON array", words: []string{"nums=[1]", "nums=[2,3]"}, want: `{"nums":[1,2,3]}`},
		{rule: "JSON arrays are items of a list of arrays", words: []string{"grid=[1,2]", "grid=[3]"}, want: `{"grid":[[1,2],[3]]}`},
		{rule: "a JSON array of arrays is the whole list", words: []string{"grid=[[1,2],[3]]"}, want: `{"grid":[[1,2],[3]]}`},
		{rule: "an empty list", words: []string{"grid=[]", "tags=[]"}, want: `{"grid":[],"tags":[]}`},
		{rule: "an empty value is an item", words: []string{"tags="}, want: `{"tags":[""]}`},
		{rule: "items of a tuple have types of their own", words: []string{"pair=7", "pair=7"}, want: `{"pair":["7",7]}`},
		{rule: "brackets append", words: []string{"tags[]=a", "tags[]=b", "list[]=1"}, want: `{"tags":["a","b"],"list":["1"]}`},
		{rule: "brackets append JSON", words: []string{"list[]:=1", `list[]:={"a":1}`}, want: `{"list":[1,{"a":1}]}`},
		{rule: "brackets make a list where the schema is silent", words: []string{"new[]=a", "o.more[]=b"}, want: `{"new":["a"],"o":{"more":["b"]}}`},
		{rule: "brackets of a parameter's own name", words: []string{"ids[]=a"}, want: `{"ids[]":"a"}`},
		{rule: "a list or one: one", words: []string{"ai=5"}, want: `{"ai":5}`},
		{rule: "a list or one: several", words: []string{"ai=5", "ai=6", "st=a", "st=b"}, want: `{"ai":[5,6],"st":["a","b"]}`},

		{rule: "a path", words: []string{"o.limit=5", "o.name=5"}, want: `{"o":{"limit":5,"name":"5"}}`},
		{rule: "a deeper path", words: []string{"o.in.x=1"}, want: `{"o":{"in":{"x":1}}}`},
		{rule: "a name that holds the dot wins", words: []string{"a.b=1"}, want: `{"a.b":1}`},
		{rule: "a name that holds the dot wins further in", words: []string{"o.in.x.y=1"}, want: `{"o":{"in":{"x.y":"1"}}}`},
		{rule: "a path below a name that holds the dot", words: []string{"a.b.c=1"}, want: `{"a.b":{"c":"1"}}`},
		{rule: "a path goes into the object of a word", words: []string{`o={"name":"x"}`, "o.limit=1"}, want: `{"o":{"name":"x","limit":1}}`},

		{rule: "exact JSON, whatever the schema says", words: []string{`s:=7`, `i:="7"`, `n:= [1e400, 0.10 ]`}, want: `{"s":7,"i":"7","n":[1e400,0.10]}`},
		{rule: "exact JSON keeps escapes", words: []string{`s:="\ud800\u00e9"`}, want: `{"s":"\ud800\u00e9"}`},
		{rule: "a repeated key appends to exact JSON", words: []string{`nums:=[1]`, "nums=2"}, want: `{"nums":[1,2]}`},

		{rule: "the text of a file, all of it", words: []string{"s=@note.txt"}, want: `{"s":"two\nlines\n"}`},
		{rule: "a number in a file", words: []string{"i=@seven", "s=@seven"}, want: `{"i":7,"s":"7\n"}`},
		{rule: "the JSON of a file", words: []string{"any:=@data"}, want: `{"any":{"a":1.50,"b":[1]}}`},
		{rule: "the text of a file as an item", words: []string{"tags=@note.txt", "tags=b"}, want: `{"tags":["two\nlines\n","b"]}`},
		{rule: "two at signs are one", words: []string{"s=@@note.txt", "tags[]=@@@x"}, want: `{"s":"@note.txt","tags":["@@x"]}`},
		{rule: "standard input", words: []string{"s=@-"}, want: `{"s":"{\"s\": \"from stdin\"}"}`},
		{rule: "standard input as JSON", words: []string{"o:=@-"}, want: `{"o":{"s":"from stdin"}}`},

		{rule: "a whole object", words: []string{`{"i": 9007199254740993, "s": "\u003c"}`}, want: `{"i":9007199254740993,"s":"\u003c"}`},
		{rule: "a whole object after a line break", words: []string{"\n {\"i\": 1}\n"}, want: `{"i":1}`},
		{rule: "pairs are laid over the whole object, wherever it is", words: []string{"s=x", `{"i":1,"s":"y"}`, "n=2"}, want: `{"i":1,"s":"x","n":2}`},
		{rule: "a pair replaces a list of the whole object", args: `{"tags":["a"]}`, words: []string{"tags=b", "tags=c"}, want: `{"tags":["b","c"]}`},
		{rule: "brackets append to a list of the whole object", args: `{"tags":["a"]}`, words: []string{"tags[]=b"}, want: `{"tags":["a","b"]}`},
		{rule: "a path goes into the whole object", args: `{"o":{"name":"x"}}`, words: []string{"o.limit=1"}, want: `{"o":{"name":"x","limit":1}}`},
		{rule: "--args with a file", args: "@args", words: []string{"s=x"}, want: `{"s":"x","i":9007199254740993}`},
		{rule: "--args with standard input", args: "-", want: `{"s":"from stdin"}`},
		{rule: "--args with standard input, the other way", args: "@-", want: `{"s":"from stdin"}`},

		{rule: "a colon in the name of a parameter", words: []string{"k:v=1"}, want: `{"k:v":"1"}`},
		{rule: "exact JSON for a colon in the name", words: []string{"k:v:=1"}, want: `{"k:v":1}`},
		{rule: "a colon in a name that no schema knows", schema: "{}", words: []string{"xml:lang=en"}, want: `{"xml:lang":"en"}`},
		{rule: "a dash in front of a parameter's own name", schema: `{"properties":{"--x":{"type":"integer"}}}`, words: []string{"--x=1"}, want: `{"--x":1}`},
		{rule: "an unknown name is not refused here", words: []string{"nope=1"}, want: `{"nope":"1"}`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			schema := c.schema
			if schema == "" {
				schema = wide
			}
			got, err := Build(Input{Words: c.words, Args: c.args, Schema: json.RawMessage(schema), Source: files()})
			if err != nil {
				t.Fatalf("%q: %v", c.words, err)
			}
			if string(got) != c.want {
				t.Errorf("%q\n got %s\nwant %s", c.words, got, c.want)
			}
		})
	}
}

func TestBuildRefuses(t *testing.T) {
	const one = `{"properties":{"message":{"type":"string","description":"What to say. And more."}},"required":["message"]}`
	const list = `{"properties":{"paths":{"type":"array","items":{"type":"string"}}},"required":["paths"]}`
	const snake = `{"properties":{"max_items":{"type":"integer"},"dry_run":{"type":"boolean"},"url":{"type":"string"}}}`
	for _, c := range []struct {
		rule    string
		words   []string
		args    string
		schema  string // wide, if empty
		want    string
		suggest string
		help    string
		correct []string
	}{
		{
			rule: "a repeated key that is no list", words: []string{"s=a", "s=b"},
			want: "s is given twice, and takes one value", help: "s  string  A text",
		},
		{rule: "a repeated key without a type", words: []string{"any=a", "any=b"}, want: "any is given twice, and takes one value"},
		{rule: "exact JSON twice", words: []string{"tags:=[]", "tags:=[]"}, want: "tags is given twice"},
		{rule: "an object after its members", words: []string{"o.limit=1", "o={}"}, want: "o is given twice, and takes one value", help: "o  object"},
		{rule: "a path into what is no object", words: []string{"any=1", "any.x=2"}, want: `any.x: any is "1" already, and no object`},
		{rule: "a path into what the whole object says otherwise", words: []string{`{"o":[]}`, "o.limit=1"}, want: "o.limit: o is an array already, and no object"},
		{rule: "appending to what is no list", words: []string{`{"tags":"a"}`, "tags[]=b"}, want: `tags is "a" already, and no list`},
		{rule: "an empty name", words: []string{"=x"}, want: `"": a name is empty`},
		{rule: "an empty name in a path", words: []string{"o..x=1"}, want: "o..x: a name is empty"},
		{rule: "deeper than an item", words: []string{"rows[].name=x"}, want: "rows[].name: a path ends at an item; write the items as JSON: rows:='[{\"name\": …}]'"},
		{rule: "an item by number", words: []string{"tags[0]=x"}, want: "tags[0]: items have no numbers here; 'tags[]=…' appends one, tags:='[…]' sets the list"},
		{rule: "a member in brackets", words: []string{"o[limit]=x"}, want: "o[limit]: write o.limit for a value inside another"},

		{rule: "JSON that is none", words: []string{"i:=[1,}"}, want: "i: not valid JSON at character 4: invalid character '}' looking for beginning of value", suggest: "for text write i='[1,}'", help: "i  integer  A count"},
		{rule: "JSON that ends too early", words: []string{"i:=[1"}, want: "i: not valid JSON: it ends too early"},
		{rule: "JSON that is empty", words: []string{"i:="}, want: "i: not valid JSON: it is empty", suggest: "for text write i="},
		{rule: "JSON text without quotes", words: []string{"s:=hello"}, want: "s: not valid JSON at character 1: invalid character 'h' looking for beginning of value", suggest: "for text write s=hello"},
		{rule: "JSON of a file that is none", words: []string{"any:=@broken"}, want: "any: not valid JSON at line 3, character 3: invalid character 'b' looking for beginning of object key string"},
		{rule: "a name twice", words: []string{`o:={"a":{"x":1,"x":2}}`}, want: "o: the name a.x appears twice"},
		{rule: "a name twice in typed JSON", words: []string{`o={"a":1,"a":2}`}, want: "o: the name a appears twice"},
		{rule: "a name twice in the whole object", words: []string{`{"a":1,"a":2}`}, want: "arguments: the name a appears twice"},
		{rule: "a name twice in a file", args: "@twice", want: "--args: the name a.x appears twice"},

		{
			rule: "a file that is not there", words: []string{"s=@octocat"},
			want: "s: open octocat: file does not exist", suggest: "for the text itself write s=@@octocat", help: "s  string  A text",
		},
		{rule: "a file without a name", words: []string{"s=@"}, want: "s: @ without the name of a file", suggest: "for the text itself write s=@@"},
		{rule: "a file that is no text", words: []string{"s=@binary"}, want: "s: binary is not UTF-8 text, and JSON can hold nothing else"},
		{rule: "a word that is no text", words: []string{"s=\xff"}, want: "s: not UTF-8 text, and JSON can hold nothing else"},
		{rule: "a name that is no text", words: []string{"\xff=1"}, want: `"\xff": not UTF-8 text, and JSON can hold nothing else`},
		{rule: "standard input twice", words: []string{"s=@-", "any=@-"}, want: "any: standard input is read by s already"},
		{rule: "standard input twice, by --args", args: "-", words: []string{"s=@-"}, want: "s: standard input is read by --args already"},

		{rule: "two whole objects", words: []string{`{"a":1}`, `{"b":1}`}, want: `the whole object is given twice: by "{\"a\":1}" and by "{\"b\":1}"`},
		{rule: "a whole object and --args", args: "{}", words: []string{`{"b":1}`}, want: `the whole object is given twice: by --args and by "{\"b\":1}"`},
		{rule: "a whole object that is none", words: []string{`{a: 1}`}, want: "arguments: not valid JSON at character 2: invalid character 'a' looking for beginning of object key string", suggest: "put the whole object in single quotes"},
		{rule: "--args that is no object", args: "[1]", want: `--args: must be a JSON object, @FILE or -, not "[1]"`},
		{rule: "--args that is a file without the at sign", args: "args.json", want: `--args: must be a JSON object, @FILE or -, not "args.json"`, suggest: "for a file write @args.json"},
		{rule: "--args that is a pair", args: "a=1", want: `--args: must be a JSON object, @FILE or -, not "a=1"`, suggest: "write a=1 without --args"},
		{rule: "--args with a file that holds no object", args: "@seven", want: "--args: must be a JSON object, not 7"},

		{
			rule: "a habit: k:v", schema: one, words: []string{"message:hi there"},
			want: `"message:hi there": arguments are written message='hi there'`, correct: []string{"message='hi there'"},
			help: "message  string (required)  What to say.",
		},
		{rule: "a habit: k: v in one word", schema: one, words: []string{"message: hi"}, want: `"message: hi": arguments are written message=hi`, correct: []string{"message=hi"}},
		{rule: "a habit: k: v in two words", schema: one, words: []string{"message:", "hi"}, want: `"message: hi": arguments are written message=hi`, correct: []string{"message=hi"}},
		{rule: "a habit: k:v with an equals sign in the value", schema: snake, words: []string{"url:http://x?a=b"}, want: `"url:http://x?a=b": arguments are written url='http://x?a=b'`, correct: []string{"url='http://x?a=b'"}},
		{
			rule: "a habit: a: 1, b: 2", schema: "{}", words: []string{"a:", "1,", "b:", "2", "c=3"},
			want: `"a: 1,": arguments are written a=1; "b: 2": arguments are written b=2`, correct: []string{"a=1", "b=2", "c=3"},
		},
		{rule: "a habit: --k=v", schema: one, words: []string{"--message=hi"}, want: `"--message=hi": a tool's parameters are no flags`, correct: []string{"message=hi"}, suggest: "write message=hi"},
		{rule: "a habit: --k v, with another word", words: []string{"i=1", "--s", "x"}, want: `"--s x": a tool's parameters are no flags`, correct: []string{"i=1", "s=x"}},
		{rule: "a habit: --k=v in kebab case", schema: snake, words: []string{"--max-items=3"}, want: `"--max-items=3": a tool's parameters are no flags`, correct: []string{"max_items=3"}},
		{rule: "a habit: --k for a boolean", schema: snake, words: []string{"--dry-run", "url=x"}, want: `"--dry-run": a tool's parameters are no flags`, correct: []string{"dry_run=true", "url=x"}},
		{rule: "a habit: -k=v", schema: "{}", words: []string{"-a=1"}, want: `"-a=1": a tool's parameters are no flags`, correct: []string{"a=1"}},
		{rule: "a habit: k = v", schema: one, words: []string{"message", "=", "hi"}, want: `"message = hi": arguments are written message=hi`, correct: []string{"message=hi"}},
		{rule: "a habit: k = v in one word", schema: one, words: []string{"message = hi"}, want: `"message = hi": arguments are written message=hi`, correct: []string{"message=hi"}},

		{
			rule: "a bare word for the only required parameter", schema: one, words: []string{"hello"},
			want: `"hello": arguments are written key=value`, suggest: "write message=hello", correct: []string{"message=hello"},
			help: "message  string (required)  What to say.",
		},
		{rule: "bare words that have lost their quotes", schema: one, words: []string{"hello", "world"}, want: `"hello world": arguments are written key=value`, correct: []string{"message='hello world'"}},
		{rule: "bare words for a list", schema: list, words: []string{"a b", "c"}, want: `"a b c": arguments are written key=value`, correct: []string{"paths='a b'", "paths=c"}},
		{rule: "a bare URL for the only required parameter", schema: one, words: []string{"http://x"}, want: `"http://x": arguments are written key=value`, correct: []string{"message=http://x"}},
		{rule: "a bare image:tag for the only required parameter", schema: one, words: []string{"nginx:latest"}, want: `"nginx:latest": arguments are written key=value`, correct: []string{"message=nginx:latest"}},
		{rule: "a bare word beside the required parameter", schema: one, words: []string{"message=a", "b"}, want: `"b": arguments are written key=value`, suggest: "known here: message"},
		{rule: "a bare word where there is no telling", schema: snake, words: []string{"x"}, want: `"x": arguments are written key=value`, suggest: "known here: max_items, dry_run, url"},
		{rule: "a bare word for a tool without parameters", schema: `{"properties":{}}`, words: []string{"x"}, want: `"x": arguments are written key=value`, suggest: "the tool takes no arguments"},
		{rule: "a bare file", schema: one, words: []string{"@args.json"}, want: `"@args.json": arguments are written key=value`, suggest: "for a whole JSON object write --args @args.json"},
		{rule: "an empty word", schema: "null", words: []string{""}, want: `"": arguments are written key=value`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			schema := c.schema
			if schema == "" {
				schema = wide
			}
			got, err := Build(Input{Words: c.words, Args: c.args, Schema: json.RawMessage(schema), Source: files()})
			e := usage(t, err)
			if got != nil {
				t.Errorf("an error, and the arguments %s as well", got)
			}
			if e.Message != c.want {
				t.Errorf("message\n got %s\nwant %s", e.Message, c.want)
			}
			if c.suggest != "" && e.Suggestion != c.suggest {
				t.Errorf("suggestion\n got %s\nwant %s", e.Suggestion, c.suggest)
			}
			if c.help != "" && e.Help != c.help {
				t.Errorf("help\n got %s\nwant %s", e.Help, c.help)
			}
			if !slices.Equal(e.Correct, c.correct) {
				t.Errorf("correct\n got %q\nwant %q", e.Correct, c.correct)
			}
		})
	}
}

// usage returns err as a usage error.
func usage(t *testing.T, err error) *UsageError {
	t.Helper()
	var e *UsageError
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a *UsageError", err)
	}
	return e
}

func TestBuildReportsEverythingAtOnce(t *testing.T) {
	_, err := Build(Input{Words: []string{"s=@nope", "i:=x", "s..a=1", "b=true"}, Schema: json.RawMessage(wide), Source: files()})
	e := usage(t, err)
	if len(e.Problems) != 3 || e.Param != "" {
		t.Errorf("problems %d, param %q: %v", len(e.Problems), e.Param, e)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the cause is lost: %v", err)
	}
	if want := "s  string  A text\ni  integer  A count"; e.Help != want {
		t.Errorf("help\n got %q\nwant %q", e.Help, want)
	}
}

func TestBuildWithoutSourceReadsNothing(t *testing.T) {
	for _, words := range [][]string{{"a=@x"}, {"a=@-"}, {"a:=@-"}} {
		_, err := Build(Input{Words: words})
		if e := usage(t, err); !strings.Contains(e.Message, "cannot be read here") {
			t.Errorf("%q: %v", words, err)
		}
	}
	if _, err := Build(Input{Args: "-"}); err == nil {
		t.Error("--args - without standard input passed")
	}
}

func TestBuildRefusesDepthThatJSONHasNot(t *testing.T) {
	const most = 10_000 // of encoding/json
	for rule, c := range map[string]struct{ word, want string }{
		"a value":           {"a:=" + strings.Repeat("[", most+1) + strings.Repeat("]", most+1), "exceeded max depth"},
		"a value in a path": {"a.b:=" + strings.Repeat("[", most) + strings.Repeat("]", most), "arguments: nested too deeply for JSON"},
		"a path":            {strings.Repeat("a.", most) + "a=1", "more than 100 names; give it in a JSON object"},
	} {
		_, err := Build(Input{Words: []string{c.word}})
		if e := usage(t, err); !strings.Contains(e.Message, c.want) || len(e.Message) > 300 {
			t.Errorf("%s: %s", rule, e.Message)
		}
	}
}

func TestCachedSourceGivesTheSameTwice(t *testing.T) {
	reads := 0
	source := Source{
		ReadFile: func(name string) ([]byte, error) {
			reads++
			if name == "gone" {
				return nil, fs.ErrNotExist
			}
			return fmt.Appendf(nil, "read %d", reads), nil
		},
		Stdin: io.MultiReader(strings.NewReader("in"), strings.NewReader("put")),
	}.Cached()
	for range 3 {
		got, err := Build(Input{Words: []string{"a=@f", "b=@-"}, Source: source})
		if err != nil || string(got) != `{"a":"read 1","b":"input"}` {
			t.Errorf("%s, %v", got, err)
		}
		if _, err := Build(Input{Words: []string{"a=@gone"}, Source: source}); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	}
	if reads != 2 {
		t.Errorf("%d reads", reads)
	}
	if empty := (Source{}).Cached(); empty.ReadFile != nil || empty.Stdin != nil {
		t.Error("a source without anything gained something")
	}
}

func TestFromCallSyntax(t *testing.T) {
	for _, c := range []struct {
		word, tool string
		words      []string
		ok         bool
	}{
		{`add(a: 1, b: 2)`, "add", []string{"a=1", "b=2"}, true},
		{`echo(message: "hi there")`, "echo", []string{"message='hi there'"}, true},
		{`demo.echo(message='it''s')`, "demo.echo", []string{`message='it'\'''\''s'`}, true},
		{`echo(message: it's, n: 1)`, "echo", []string{`message='it'\''s'`, "n=1"}, true},
		{`echo("message": "a, b: \"c\"")`, "echo", []string{`message='a, b: "c"'`}, true},
		{`t(list: [1, 2], o: {"a": {"b": 1}},)`, "t", []string{"list:='[1, 2]'", `o:='{"a": {"b": 1}}'`}, true},
		{`t({"a": 1})`, "t", []string{`'{"a": 1}'`}, true},
		{`t()`, "t", nil, true},
		{`t(5, "x y")`, "t", []string{"5", "'x y'"}, true},
		{`t(a: "@x", b: @y)`, "t", []string{"a=@@x", "b=@y"}, true},
		{`t(a := 1)`, "t", []string{"a=1"}, true},
		{`t(url: http://x/?a=b)`, "t", []string{"url='http://x/?a=b'"}, true},
		{`t(a: (1)`, "", nil, false},
		{`t(a: 1`, "", nil, false},
		{`t(a: "1)`, "", nil, false},
		{`(a: 1)`, "", nil, false},
		{`s=f(x)`, "", nil, false},
		{`tool`, "", nil, false},
	} {
		tool, words, ok := FromCallSyntax(c.word)
		if tool != c.tool || !slices.Equal(words, c.words) || ok != c.ok {
			t.Errorf("%s: got %q %q %v, want %q %q %v", c.word, tool, words, ok, c.tool, c.words, c.ok)
		}
	}
}

func TestNear(t *testing.T) {
	names := []string{"message", "max_items", "url", "includeDeleted", "id", "x"}
	for name, want := range map[string]string{
		"mesage": "message", "mseage": "message", "maxItems": "max_items", "max-items": "max_items", "MESSAGE": "message",
		"ur": "", "uri": "url", "deleted": "includeDeleted", "msg": "", "y": "", "ip": "", "totally": "",
	} {
		if got := near(name, names); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// FuzzBuild holds that Build never panics and returns a JSON object or a usage error, whatever the words and the schema.
func FuzzBuild(f *testing.F) {
	f.Add("s=7\x00i=9007199254740993", "", wide)
	f.Add(`{"a":1}`+"\x00o.limit=1\x00tags[]=x", "{}", wide)
	f.Add("--k\x00v\x00a: 1\x00b:2\x00bare", "@-", "null")
	f.Add("a=1\x00a=2", "-", `{"properties":{"a":{"$ref":"#"}},"type":"array","items":{"$ref":"#"}}`)
	f.Fuzz(func(t *testing.T, words, args, schema string) {
		in := Input{Words: strings.Split(words, "\x00"), Args: args, Schema: json.RawMessage(schema), Source: files()}
		got, err := Build(in)
		if err != nil {
			e := usage(t, err)
			if e.Message == "" {
				t.Errorf("an error without a message: %#v", e)
			}
			return
		}
		var object map[string]json.RawMessage
		if err := json.Unmarshal(got, &object); err != nil || object == nil {
			t.Errorf("%q: %s is no object: %v", words, got, err)
		}
		if err := Check(got, in.Schema); err != nil {
			_ = usage(t, err)
		}
	})
}

// FuzzBuildKeepsValues holds that a text arrives as it was typed, and a number with all its digits.
func FuzzBuildKeepsValues(f *testing.F) {
	for _, text := range []string{"", "@x", "a=b", "9007199254740993", "1e400", "0.1000", "\u2028\n\"", "null", "{}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Build(Input{Words: []string{"s=" + escapeAt(text), "n=" + escapeAt(text)}, Schema: json.RawMessage(wide)})
		if !utf8.ValidString(text) {
			_ = usage(t, err)
			return
		}
		var back struct {
			S string
			N json.RawMessage
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(got, &back); err != nil || back.S != text {
			t.Errorf("%q came back as %q: %v", text, back.S, err)
		}
		if v, _, err := parse(text); err == nil && v.kind == kindNumber && v.literal == text && string(back.N) != text {
			t.Errorf("%s came back as %s", text, back.N)
		}
	})
}

func FuzzFromCallSyntax(f *testing.F) {
	f.Add(`server.tool(a: 1, b: "x", c: [1, {"d": 'e'}],)`)
	f.Fuzz(func(t *testing.T, word string) {
		if tool, words, ok := FromCallSyntax(word); !ok && (tool != "" || words != nil) {
			t.Errorf("%q: not understood, and yet %q %q", word, tool, words)
		}
	})
}
