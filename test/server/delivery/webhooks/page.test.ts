import { readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { expect, it } from "vitest"
import { webhookKinds } from "../../../../server/delivery/webhooks/kinds.ts"
import { webhooksPage } from "./page.ts"
import { recordedCatalogue } from "../../../recorded-catalogue.ts"

const update = "UPDATE_WEBHOOKS=1 npx vitest run test/server/delivery/webhooks/page.test.ts"
const file = fileURLToPath(new URL("../../../../docs/WEBHOOKS.md", import.meta.url))

it(`docs/WEBHOOKS.md matches the declarations (${update})`, () => {
  const page = webhooksPage(recordedCatalogue, webhookKinds)
  if (process.env["UPDATE_WEBHOOKS"] === "1") writeFileSync(file, page)
  expect(readFileSync(file, "utf8")).toBe(page)
})
