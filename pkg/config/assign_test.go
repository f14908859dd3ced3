package config

import (
	"strings"
	"testing"
)

func TestAssignTouchesOnlyItsKey(t *testing.T) {
	const file = "\ufeff# mine\r\nservers:\r\n  a: &a\r\n    command: x   # run\r\n\r\n    env: {A: '1', B: \"2\"}\r\n  b:\r\n    <<: *a\r\n"
	c := splitContent([]byte(file))
	got, err := edited(c.text, func(d *Document) error {
		_, err := d.Assign("b", []Assignment{{Key: "env.C", Value: "3"}, {Key: "timeout", Value: "5"}, {Key: "env.A", Op: Unset}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	c.text = got
	if !strings.HasPrefix(string(c.bytes()), file) {
		t.Errorf("the rest changed:\n%s", got)
	}
	cfg, err := Parse("f.yaml", c.bytes())
	if err != nil {
		t.Fatal(err)
	}
	a, _ := cfg.Server("a")
	b, _ := cfg.Server("b")
	if len(a.Env) != 2 || len(b.Env) != 2 || b.Env["B"] != "2" || b.Env["C"] != "3" || b.Err != nil {
		t.Errorf("a %v, b %v, %v", a.Env, b.Env, b.Err)
	}
}

func FuzzAssign(f *testing.F) {
	f.Add(handWritten, "timeout", "5", uint8(0))
	f.Add("servers:\n  a: &a\n    command: x\n    env: {A: b}\n  b: {<<: *a}\n", "env.A", "é\n", uint8(2))
	f.Add("servers:\n  a:\n    command: x\n    env: &e {A: b}\n  b:\n    command: y\n    env: *e\n", "env.A", "#", uint8(2))
	f.Add("servers: {a: {command: x, args: [&i y, *i]}}\n", "args", "z", uint8(3))
	f.Add("servers:\n  a:\n    url: http://x\n", "headers.X", `{"a":[1]}`, uint8(1))
	f.Fuzz(func(t *testing.T, text, key, value string, op uint8) {
		d, err := newDocument("f.yaml", splitContent([]byte(text)).text)
		if err != nil || len(d.Names()) == 0 {
			return
		}
		names := d.Names()
		name := names[int(op)/5%len(names)]
		start, before := d.text, d.cfg.Servers
		changed, err := d.Assign(name, []Assignment{{Key: key, Op: Operation(op % 5), Value: value}})
		if err != nil && (d.text != start || changed != nil) {
			t.Fatalf("an error changed something: %v", err)
		}
		cfg, parseErr := Parse("f.yaml", []byte(d.text))
		if parseErr != nil {
			t.Fatalf("the text is broken: %v\n%s", parseErr, d.text)
		}
		for _, old := range before {
			now, ok := cfg.Server(old.Name)
			if !ok || old.Name != name && !sameEntry(now, old) {
				t.Fatalf("%q changed: %+v, %+v", old.Name, old, now)
			}
			if old.Name == name && old.Err == nil && now.Err != nil {
				t.Fatalf("%q is broken: %v", name, now.Err)
			}
		}
	})
}
