package toolargs

import (
	"encoding/json"
	"testing"
	"time"
)

// TestFormsOfSchemasThatGrowTakeNoTime is TestSchemasThatGrowTakeNoTime for forms.
func TestFormsOfSchemasThatGrowTakeNoTime(t *testing.T) {
	for _, keyword := range []string{"anyOf", "oneOf", "allOf", "properties", "items", "if"} {
		t.Run(keyword, func(t *testing.T) {
			begin := time.Now()
			schema := json.RawMessage(doubling(keyword, 40))
			form, err := NewForm(schema, nil)
			if err != nil {
				t.Fatal(err)
			}
			var visit func(inside []string)
			visit = func(inside []string) {
				for _, field := range form.Fields(inside...) {
					if raw, err := field.Parse("x"); err == nil {
						form.Set(field, raw)
					}
					if field.Kind == FieldObject {
						visit(field.Path)
					}
				}
			}
			visit(nil)
			_ = form.Check()
			Complete(Input{Schema: schema}, form.JSON())
			if elapsed := time.Since(begin); elapsed > schemaTime {
				t.Errorf("it took %s", elapsed)
			}
		})
	}
}
