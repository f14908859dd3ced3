// Validates XML files against a schema: node xsd.mjs SCHEMA FILE... It prints what is wrong, and exits 1 if anything is.
import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';

const {validateXML} = createRequire(import.meta.url)('xmllint-wasm');
const [schema, ...files] = process.argv.slice(2);
const {valid, errors} = await validateXML({
  schema: [readFileSync(schema, 'utf8')],
  xml: files.map((name) => ({fileName: name, contents: readFileSync(name, 'utf8')})),
});
for (const {rawMessage} of errors) console.log(rawMessage);
process.exitCode = valid ? 0 : 1;
