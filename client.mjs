// Writes out/client, the package's `flightcase/client`: its calls and types come from the API's description. It reads
// the sources themselves, so it needs Node 24.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { Effect } from "effect"
import { rolldown } from "rolldown"
import { isolatedDeclarationSync } from "rolldown/experimental"
import { declarationsOf, operationTable } from "./client/declarations.ts"
import { catalogue } from "./core/catalogue.ts"
import { catalogueOf } from "./core/kernel/endpoints/endpoint.ts"
import { serverSlices } from "./server/host/slices.ts"
import { openApi } from "./server/operations/system/openapi.ts"

const root = fileURLToPath(new URL(".", import.meta.url))
const folder = `${root}out/client`

const whole = catalogueOf([...catalogue.slices, ...serverSlices(() => whole)])
const description = await Effect.runPromise(openApi(whole, "/"))

const entry = `import { clientOf } from "./client/runtime.ts"
export * from "./client/types.ts"
export const createClient = (options) => clientOf(${JSON.stringify(operationTable(description))}, options)`
const bundle = await rolldown({
  cwd: root,
  input: "entry",
  platform: "neutral",
  plugins: [
    {
      name: "entry",
      resolveId: (id) => (id === "entry" ? `${root}entry.js` : null),
      load: (id) => (id === `${root}entry.js` ? entry : null)
    }
  ]
})
await bundle.write({ dir: folder, format: "esm", comments: false, entryFileNames: "index.js" })
await bundle.close()

const file = `${root}client/types.ts`
const { code, errors } = isolatedDeclarationSync(file, readFileSync(file, "utf8"), {})
if (errors.length > 0) throw new Error(errors.map(({ message }) => message).join("\n"))
mkdirSync(folder, { recursive: true })
writeFileSync(`${folder}/index.d.ts`, code + declarationsOf(description))
