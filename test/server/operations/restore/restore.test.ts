/** Exports of a server imported into an empty one, on any pair of engines: rows are equal to the last byte. */
import { createHash } from "node:crypto"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import type { Request } from "../../../../core/kernel/endpoints/endpoint.ts"
import { canonicalJson, type JsonObject } from "../../../../core/kernel/fields/field.ts"
import { journal } from "../../../../core/kernel/events/journal.ts"
import { rebuild } from "../../../../core/kernel/runtime/schema.ts"
import { Store } from "../../../../core/kernel/store/store.ts"
import { type Engine, engines } from "../../../app.ts"
import type { Look } from "../../../sim/any-command.ts"
import { randomOf } from "../../../sim/random.ts"
import { seed_data } from "../../../sim/seed-data.ts"
import { nextRequest } from "../../../sim/work.ts"
import { serve, type Serving } from "../../serving.ts"
import { changed_meanwhile } from "../../../../server/operations/restore/files.ts"

const asking =
  (server: Serving) =>
  async ({ method, path, query, body }: Request): Promise<void> => {
    const words = new URLSearchParams(query.map(([name, value]): [string, string] => [name, value])).toString()
    await server.ask(`${path}${words === "" ? "" : `?${words}`}`, {
      method,
      ...(body === undefined ? {} : { json: body })
    })
  }
/** Runs SQL written with `?` on either engine. */
const looking =
  (server: Serving): Look =>
  (sql, values = []) =>
    server.run(
      Effect.flatMap(Store, (store) => {
        let at = 0
        return store.run(store.dialect === "pg" ? sql.replace(/\?/g, () => `$${++at}`) : sql, values)
      })
    )
/** Sends random requests of many kinds, some of which are refused. */
const worked = async (server: Serving, seed: number, steps: number): Promise<void> => {
  const chance = randomOf(seed),
    ask = asking(server),
    look = looking(server)
  for (const request of seed_data) await ask(request)
  for (let step = 0; step < steps; step++) await ask(await nextRequest(chance, look))
  await server.ask("/api/v1/products", { json: { name: "Genuine" } })
  const member = await server.ask("/api/v1/members", {
    json: { name: "Ada Lovelace", membership_type: "contact", description: 'é \u2028 🎪 "quoted"' }
  })
  await server.ask(`/api/v1/members/${member.body.member.id}/anonymise`, { method: "POST", json: {} })
  await server.ask("/api/v1/settings/company", { method: "PUT", json: { settings: { timezone: "Europe/Berlin" } } })
  await server.ask("/api/v1/exchange_rates", {
    json: {
      source_currency_code: "GBP",
      target_currency_code: "EUR",
      rate: "1.170000",
      effective_at: "2026-01-01T00:00:00Z"
    }
  })
}
const everything = (server: Serving) =>
  server.run(
    Effect.gen(function* () {
      const store = yield* Store
      const tables: { [name: string]: unknown } = {}
      for (const table of [...server.app.catalogue.tables, journal])
        tables[table.name] = yield* store.find(table as any, {}, { order: [table.key] })
      return tables
    })
  )
const pages = async (server: Serving, limit: number) => {
  const events: Array<any> = []
  for (let after = 0; ;) {
    const { body } = await server.ask(`/api/v1/system/journal?after=${after}&limit=${limit}`)
    events.push(...body.events)
    after = body.meta.position
    if (after >= body.meta.head) return events
  }
}
/** Documents have files, which other tests cover. */
const without_files = { method: "POST", json: { accept_missing_files: true } }
const brought = async (to: Serving, manifest: any, events: ReadonlyArray<any>, page: number) => {
  const begun = await to.ask("/api/v1/system/restores", { json: manifest })
  expect(begun.status, begun.text).toBe(201)
  const { id } = begun.body.restore
  for (let at = 0; at < events.length; at += page) {
    const got = await to.ask(`/api/v1/system/restores/${id}/events`, { json: { events: events.slice(at, at + page) } })
    expect([got.status, got.body.restore?.received], got.text.slice(0, 300)).toEqual([
      200,
      Math.min(at + page, events.length)
    ])
  }
  return to.ask(`/api/v1/system/restores/${id}/finish`, without_files)
}

describe.each(engines.flatMap((from) => engines.map((to) => [from, to] as const)))(
  "a database on %s, restored on %s,",
  (from: Engine, to: Engine) => {
    it("has the same rows, journal, next ids and numbers", async () => {
      const one = await serve(from),
        other = await serve(to)
      try {
        await worked(one, 7, 250)
        const { manifest } = (await one.ask("/api/v1/system/manifest")).body
        const events = await pages(one, 97)
        expect(events.length).toBe(manifest.events)
        // Cached before the import, and outdated after it.
        expect((await other.ask("/api/v1/settings/company")).body.settings.timezone).toBe("UTC")
        const finished = await brought(other, manifest, events, 211)
        expect([finished.status, finished.body.restore?.received], finished.text.slice(0, 500)).toEqual([
          200,
          events.length
        ])
        expect(await everything(other)).toEqual(await everything(one))
        expect((await other.ask("/api/v1/system/manifest")).body.manifest).toEqual(manifest)
        expect((await other.ask("/api/v1/settings/company")).body.settings.timezone).toBe("Europe/Berlin")
        // Later commands have the same results on both.
        const next = {
          subject: "The next job",
          starts_at: "2026-08-01T09:00:00Z",
          ends_at: "2026-08-02T09:00:00Z",
          store_id: 1
        }
        const [here, there] = [
          await one.ask("/api/v1/opportunities", { json: next }),
          await other.ask("/api/v1/opportunities", { json: next })
        ]
        expect(there.status, there.text).toBe(201)
        expect(there.body.opportunity.id).toBe(here.body.opportunity.id)
        const numbered = await Promise.all(
          [one, other].map(
            async (server, at) =>
              (
                await server.ask(
                  `/api/v1/opportunities/${[here, there][at]!.body.opportunity.id}/convert_to_quotation`,
                  { method: "POST" }
                )
              ).body.opportunity.number
          )
        )
        expect(numbered[1]).toBe(numbered[0])
        expect(numbered[0]).toMatch(/\d/)
        const before = await everything(other)
        await other.run(rebuild(other.app.catalogue))
        expect(await everything(other)).toEqual(before)
      } finally {
        await one.close()
        await other.close()
      }
    })
  }
)

describe.each(engines)("restoring an export into %s", (engine: Engine) => {
  const exported = async () => {
    const one = await serve("sqlite")
    try {
      await worked(one, 3, 40)
      return { manifest: (await one.ask("/api/v1/system/manifest")).body.manifest, events: await pages(one, 2_000) }
    } finally {
      await one.close()
    }
  }
  it("accepts an export of an earlier release, whose tables had fewer columns", async () => {
    const one = await serve(engine),
      other = await serve(engine)
    try {
      await worked(one, 5, 40)
      await one.ask("/api/v1/custom_fields", { json: { name: "diet", module_type: "Member", field_type: 0 } })
      const [{ manifest }, rows] = [(await one.ask("/api/v1/system/manifest")).body, await everything(one)]
      const without = (
        table: { readonly name: string; readonly columns: ReadonlyArray<string> },
        left_out: ReadonlyArray<string>
      ) => {
        const columns = table.columns.filter((name) => !left_out.includes(name))
        const hash = createHash("sha256")
        for (const row of rows[table.name] as ReadonlyArray<JsonObject>)
          hash.update(`${canonicalJson(columns.map((name) => row[name] ?? null))}\n`)
        return { ...table, columns, checksum: hash.digest("hex") }
      }
      // Exports that name their columns, and older ones that do not.
      const tables = manifest.tables.map((table: any) =>
        table.name === "products"
          ? without(table, ["barcode"])
          : { ...without(table, changed_meanwhile[table.name] ?? []), columns: undefined }
      )
      const finished = await brought(other, { ...manifest, tables }, await pages(one, 2_000), 2_000)
      expect(finished.status, finished.text.slice(0, 500)).toBe(200)
      expect(await everything(other)).toEqual(rows)
    } finally {
      await one.close()
      await other.close()
    }
  })
  it("changes nothing unless the export is complete and undamaged and the server is empty", async () => {
    const { manifest, events } = await exported()
    const server = await serve(engine)
    try {
      const empty = await everything(server)
      const refused = async (altered: any, given: ReadonlyArray<any>, field: string): Promise<void> => {
        const got = await brought(server, altered, given, 500)
        expect([got.status, Object.keys(got.body.errors ?? {})[0]], got.text.slice(0, 300)).toEqual([422, field])
        expect(await everything(server)).toEqual(empty)
      }
      await refused(manifest, events.slice(0, -1), "events")
      await refused({ ...manifest, position: events.at(-1).position - 1 }, events, "position")
      const renamed = events.map((event) => JSON.parse(JSON.stringify(event).replace("Genuine", "Altered")))
      await refused(manifest, renamed, "tables.products")
      await refused({ ...manifest, events: 0, tables: [] }, [], "events")
      expect(
        (await server.ask("/api/v1/system/restores", { json: { ...manifest, schema_version: 99 } })).body.errors
          .schema_version[0]
      ).toContain("newer release")
      expect(
        (await server.ask("/api/v1/system/restores", { json: { ...manifest, numbers: { opportunities: "many" } } }))
          .status
      ).toBe(422)
      expect((await server.ask("/api/v1/system/restores", { json: {} })).status).toBe(422)
      const begun = (await server.ask("/api/v1/system/restores", { json: manifest })).body.restore
      const created = events.find((event) => event.type === "product.created")
      for (const [wrong, field] of [
        [[{ ...events[0], data: 1 }], "events.0.data"],
        [[events[1], events[0]], "events.1.position"],
        // A type of this release with damaged data; undeclared types are not checked.
        [[events[0], { ...created, data: { ...created.data, name: 7 } }], "events.1.data"],
        [[], "events"]
      ] as const) {
        const got = await server.ask(`/api/v1/system/restores/${begun.id}/events`, { json: { events: wrong } })
        expect([got.status, Object.keys(got.body.errors)[0]], got.text).toEqual([422, field])
      }
      // A page sent again, as after a lost response, is skipped.
      for (let twice = 0; twice < 2; twice++)
        await server.ask(`/api/v1/system/restores/${begun.id}/events`, { json: { events } })
      expect((await server.ask(`/api/v1/system/restores/${begun.id}`)).body.restore.received).toBe(events.length)
      expect((await server.ask(`/api/v1/system/restores/${begun.id}/finish`, without_files)).status).toBe(200)
      const full = await everything(server)
      expect((await server.ask(`/api/v1/system/restores/${begun.id}/finish`, without_files)).status).toBe(200)
      expect((await server.ask(`/api/v1/system/restores/${begun.id}/events`, { json: { events } })).status).toBe(422)
      const again = await server.ask("/api/v1/system/restores", { json: manifest })
      expect([again.status, again.body.message]).toEqual([
        409,
        "This server has data already; an export can only be brought into an empty one."
      ])
      expect(await everything(server)).toEqual(full)
    } finally {
      await server.close()
    }
  })

  it("accepts a new server with a public URL, which has recorded its calendars' host", async () => {
    const { manifest, events } = await exported()
    const server = await serve(engine, { public_url: "https://hire.example.com" })
    try {
      const finished = await brought(server, manifest, events, 2_000)
      expect(finished.status, finished.text.slice(0, 500)).toBe(200)
      expect((await server.ask("/api/v1/system/manifest")).body.manifest).toEqual(manifest)
    } finally {
      await server.close()
    }
  })

  it("is allowed to the owner only, as is exporting, whatever permissions other users have", async () => {
    const server = await serve(engine)
    try {
      const { manifest } = (await server.ask("/api/v1/system/manifest")).body
      const { user } = (
        await server.ask("/api/v1/users", {
          json: { name: "Adam", email: "adam@hire.example", roles: ["Admin"], active: true }
        })
      ).body
      const { secret } = (
        await server.ask("/api/v1/tokens", { json: { name: "Adam's", abilities: ["*"], user_id: user.id } })
      ).body.token
      for (const [method, path, json] of [
        ["GET", "journal", undefined],
        ["GET", "manifest", undefined],
        ["POST", "restores", manifest]
      ] as const) {
        expect((await server.ask(`/api/v1/system/${path}`, { method, json, token: secret })).status, path).toBe(403)
      }
    } finally {
      await server.close()
    }
  })
})
