// Judges XML files by a schema; run where the tools are installed. Prints one line for each fault.
import { readFileSync } from "node:fs"
import { pathToFileURL } from "node:url"
import { XmlDocument, XsdValidator } from "libxml2-wasm"
import { xmlRegisterFsInputProviders } from "libxml2-wasm/lib/nodejs.mjs"

xmlRegisterFsInputProviders()
const [schema, ...files] = process.argv.slice(2)
const validator = XsdValidator.fromDoc(
  XmlDocument.fromBuffer(readFileSync(schema), { url: pathToFileURL(schema).href.replace("file://", "") })
)
for (const file of files) {
  try {
    validator.validate(XmlDocument.fromBuffer(readFileSync(file)))
  } catch (cause) {
    console.log(`${file}: ${cause.message.trim()}`)
  }
}
