/** Journals of earlier releases (test/fixtures/journals): each is imported and yields the rows it had. */
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { isDeepStrictEqual } from "node:util"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { Store } from "../../core/kernel/store/store.ts"
import { both_engines } from "../app.ts"
import {
  asKnownTo,
  journals_folder,
  readLines,
  readPacked,
  readTables,
  releasesIn,
  type Tables
} from "../fixtures/kept/folders.ts"
import { columnsIn, type Step, trailAgain } from "../fixtures/kept/trail.ts"
import { type Got, serve, type Serving } from "./serving.ts"

const events_per_page = 1_000
const readJson = (file: string): any => JSON.parse(readFileSync(file, "utf8"))

const takeIn = async (server: Serving, manifest: unknown, events: ReadonlyArray<unknown>): Promise<Got> => {
  const begun = await server.ask("/api/v1/system/restores", { json: manifest })
  expect(begun.status, begun.text).toBe(201)
  const path = `/api/v1/system/restores/${begun.body.restore.id}`
  for (let at = 0; at < events.length; at += events_per_page) {
    const got = await server.ask(`${path}/events`, { json: { events: events.slice(at, at + events_per_page) } })
    expect(got.status, got.text).toBe(200)
  }
  return server.ask(`${path}/finish`, { method: "POST" })
}
/** The manifest without checksums of rows, so that different rows are compared and not refused. */
const onlyCounted = (manifest: any): unknown => ({
  ...manifest,
  tables: manifest.tables.map((table: { readonly rows: number }) => ({
    ...table,
    columns: [],
    checksum: createHash("sha256").update("[]\n".repeat(table.rows)).digest("hex")
  }))
})
const tablesOf = (server: Serving): Promise<Tables> =>
  server.run(
    Effect.gen(function* () {
      const store = yield* Store
      const tables: { [name: string]: ReadonlyArray<any> } = {}
      for (const table of server.app.catalogue.tables)
        tables[table.name] = yield* store.find(table as any, {}, { order: [table.key] })
      return JSON.parse(JSON.stringify(tables)) as Tables
    })
  )

const releases = releasesIn(journals_folder)

it("the fixtures have a journal of at least one release", () => expect(releases.length).toBeGreaterThan(0))

describe.each(releases)("the journal of release %s", (release) => {
  const folder = join(journals_folder, release)
  const events = readLines(readPacked(join(folder, "journal.ndjson")).toString())

  it("has every type of event that release could record", () => {
    const types: ReadonlyArray<string> = readJson(join(folder, "event-types.json"))
    expect(types.length).toBeGreaterThan(0)
    expect([...new Set(events.map(({ type }) => type))].sort()).toEqual([...types].sort())
  })
  it("gives the same tables when it is projected in small steps", async () => {
    const kept = readLines(readPacked(join(folder, "trail.ndjson")).toString()) as ReadonlyArray<Step>
    expect(kept.at(-1)!.to).toBe(events.at(-1).position)
    const again = await trailAgain(events, columnsIn(readJson(join(folder, "manifest.json")).journal.manifest), kept)
    // A difference persists in later steps: the first one shows which events are projected differently.
    const at = kept.findIndex(({ sums }, step) => !isDeepStrictEqual(sums, again[step]!.sums))
    const after = at < 1 ? 0 : kept[at - 1]!.to
    const folded = at < 0 ? [] : events.filter(({ position }) => position > after && position <= kept[at]!.to)
    const types = [...new Set(folded.map(({ type }) => type))]
    expect(again[at]?.sums, `after the events ${after + 1} and following: ${types.join(", ")}`).toEqual(kept[at]?.sums)
  })
  it.each(both_engines)("gives the rows stored with it on %s", async (engine) => {
    const kept = readTables(folder),
      { manifest } = readJson(join(folder, "manifest.json")).journal
    expect(Object.values(kept).flat().length).toBe(
      manifest.tables.reduce((sum: number, { rows }: { rows: number }) => sum + rows, 0)
    )
    const server = await serve(engine)
    try {
      const taken = await takeIn(server, manifest, events)
      const looked = taken.status === 200 ? taken : await takeIn(server, onlyCounted(manifest), events)
      expect(looked.status, looked.text).toBe(200)
      const known = asKnownTo(kept, await tablesOf(server))
      for (const [name, rows] of Object.entries(kept)) expect(known[name], name).toEqual(rows)
      expect(taken.status, taken.text).toBe(200)
    } finally {
      await server.close()
    }
  })
})
