/** Compares the server's schema with a stored text, so that every change is intended and visible in review. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, it } from "vitest"
import { type Engine, both_engines } from "../app.ts"
import { statementsOf } from "../fixtures/kept/schema.ts"
import { serve } from "../server/serving.ts"

const update = "UPDATE_SCHEMA=1 npx vitest run test/core/schema.test.ts"
const fileOf = (engine: Engine): string => fileURLToPath(new URL(`../fixtures/schema/${engine}.sql`, import.meta.url))

it.each(both_engines)("the schema on %s equals the stored file", async (engine) => {
  const server = await serve(engine)
  const statements = await server.run(statementsOf)
  await server.close()
  const schema = statements.map((statement) => `${statement};\n`).join("\n")
  if (process.env["UPDATE_SCHEMA"] === "1") {
    mkdirSync(dirname(fileOf(engine)), { recursive: true })
    writeFileSync(fileOf(engine), schema)
  }
  expect(statements.length).toBeGreaterThan(50)
  expect(schema, `The schema has changed. If it was meant to, run: ${update}`).toBe(
    readFileSync(fileOf(engine), "utf8")
  )
})
