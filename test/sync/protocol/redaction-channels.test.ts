/** Ways by which something could reach a device, or stay there, beside the rows of tables: events of no table, releases, accounts, old journals. */
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { catalogue } from "../../../core/catalogue.ts"
import type { Catalogue } from "../../../core/kernel/catalogue.ts"
import type { JsonObject } from "../../../core/kernel/json.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import type { Viewer } from "../../../core/kernel/viewer.ts"
import { permissionsOfRole } from "../../../core/users/permissions.ts"
import { roles, users } from "../../../core/users/schema.ts"
import { viewerOf } from "../../../core/users/viewer.ts"
import { redactionFor } from "../../../sync/protocol/redaction.ts"
import { shapeAnswer } from "../../../sync/server/shape.ts"
import { JournalTail } from "../../../sync/server/tail.ts"
import { replica_verdicts } from "../../../sync/server/tables.ts"
import { redactionOfOutbox } from "../../../sync/device/outbox/redact-outbox.ts"
import { readOutcome } from "../../../sync/device/outcomes/outcome.ts"
import { changeInWords, overwrittenInWords } from "../../../sync/device/outcomes/wording.ts"
import { enrolDevice } from "../../../sync/device/device.ts"
import { examineDevice } from "../../../sync/device/recovery/doctor.ts"
import { RemoteError } from "../../../sync/device/remote.ts"
import { readUnsent } from "../../../sync/device/outbox/unsent.ts"
import { viewerWith } from "../../app.ts"
import { anyCommand, commandKinds, type Look } from "../../sim/any-command.ts"
import { randomOf } from "../../sim/random.ts"
import { seed_data } from "../../sim/seed-data.ts"
import type { Filled, Hooks } from "../filling.ts"
import { businessOfEachTest } from "../business.ts"

const fills = [
  ["from rows", 0],
  ["from events", Number.POSITIVE_INFINITY]
] as const

describe("devices of people with few rights", () => {
  const of = businessOfEachTest("sqlite")
  const { business, make, person } = of
  const enrol = (token: string, hooks: Hooks): Promise<Filled> => of.filled(hooks, token)
  const examined = async (device: Filled, snapshot_beyond: number) =>
    (
      await examineDevice(
        {
          profile: { replica_id: device.id },
          outbox: device.outbox,
          replica: device.replica(),
          remote: device.remote,
          run: device.run,
          snapshot_beyond
        },
        false
      )
    ).filter((one) => !one.ok)

  it.each(fills)("are told of nobody's tokens, filled %s", async (_, snapshot_beyond) => {
    await make("tokens", { name: "Laptop of the auditor", abilities: ["*"] })
    const { token } = await person(["products.view", "products.access"])
    const device = await enrol(token, { snapshot_beyond })
    await make("tokens", { name: "Phone of the auditor", abilities: ["*"] })
    await device.sync()
    expect(device.holds("of the auditor", "")).toEqual([])
    const auditor = await enrol((await person(["action-log.view"])).token, {
      snapshot_beyond: Number.POSITIVE_INFINITY
    })
    expect(auditor.holds("of the auditor")).not.toEqual([])
  })

  it.each(fills)("keep nothing of a person erased before they were filled anew, %s", async (_, snapshot_beyond) => {
    const rights = ["members.access", "members.view", "members.edit"]
    const { token, grant } = await person(rights)
    const member = await make("members", {
      name: "Zacharias Quill",
      membership_type: "contact",
      tax_number: "TAX-8177"
    })
    let open = true
    const device = await enrol(token, {
      snapshot_beyond,
      before_push: () => {
        if (!open) throw new RemoteError(500, { message: "The server is out of order." })
      }
    })
    open = false
    expect((await device.ask("PUT", `members/${member.id}`, { rating: 3 })).status).toBe(200)
    expect(device.holds("TAX-8177", "").some((file) => file.startsWith("outbox"))).toBe(true)
    expect((await business.ask("POST", `members/${member.id}/anonymise`, {})).status).toBe(200)
    // Filled anew, it hears of the erasure by no event.
    expect((await grant([...rights, "costs.view"])).status).toBe(200)
    await expect(device.sync()).rejects.toThrow("out of order")
    expect([device.holds("TAX-8177", ""), device.holds("Zacharias", "")]).toEqual([[], []])
    expect(device.outbox.counts()).toEqual({ pending: 1 })
  })
  it.each(fills)(
    "keep nothing of an erased person in their outbox, nor does the server of what was sent, filled %s",
    async (_, snapshot_beyond) => {
      const { token } = await person(["members.access", "members.view", "members.create", "members.edit"])
      let open = true
      const device = await enrol(token, {
        snapshot_beyond,
        before_push: () => {
          if (!open) throw new RemoteError(500, { message: "The server is out of order." })
        }
      })
      expect(
        (
          await device.ask("POST", "members", {
            name: "Zacharias Quill",
            membership_type: "contact",
            tax_number: "TAX-8177"
          })
        ).status
      ).toBe(201)
      await device.sync()
      const [member] = (await business.tables())["members"]!.filter((row) => row["name"] === "Zacharias Quill")
      open = false
      expect((await device.ask("PUT", `members/${String(member!["id"])}`, { rating: 3 })).status).toBe(200)
      await expect(device.sync()).rejects.toThrow("out of order")
      expect(device.holds("TAX-8177", "").length).toBeGreaterThan(0)
      expect((await business.ask("POST", `members/${String(member!["id"])}/anonymise`, {})).status).toBe(200)
      await expect(device.sync()).rejects.toThrow("out of order")
      expect([device.holds("TAX-8177", ""), device.holds("Zacharias", "")]).toEqual([[], []])
      expect(device.outbox.counts()).toEqual({ accepted: 1, pending: 1 })
      const kept = await business.run(Effect.flatMap(Store, (store) => store.find(replica_verdicts, {})))
      expect(kept).toHaveLength(1)
      expect(JSON.stringify(kept)).not.toContain("Zacharias")
      open = true
      await device.sync()
      expect(device.outbox.counts()).toEqual({ accepted: 2 })
      expect((await business.tables())["members"]).toContainEqual(
        expect.objectContaining({ id: member!["id"], name: "Anonymised Member", rating: 3 })
      )
    }
  )

  it("say what was believed earlier as the server does, of products merged since, too", async () => {
    const [lamp, twin] = [await make("products", { name: "Lamp" }), await make("products", { name: "Lantern" })]
    for (const [level, quantity_held] of [
      [1, 5],
      [2, 3]
    ] as const)
      expect((await business.ask("PUT", `stock_levels/${level}`, { quantity_held })).status).toBe(200)
    const moment = new Date().toISOString()
    // What is recorded in the same millisecond counts as known then.
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect((await business.ask("POST", `products/${lamp.id}/merge`, { secondary_id: twin.id })).status).toBe(200)
    const { token } = await person(["availability.view"])
    const device = await enrol(token, { snapshot_beyond: Number.POSITIVE_INFINITY })
    for (const [as_of, quantity] of [
      [moment, "5"],
      [new Date().toISOString(), "8"]
    ] as const) {
      const asked = `availability?product_id=${lamp.id}&store_id=1&from=2026-12-01T00:00:00Z&to=2026-12-02T00:00:00Z&as_of=${as_of}`
      const there = await business.ask("GET", asked, undefined, token)
      expect([there.status, JSON.stringify(there.body)]).toEqual([200, expect.stringContaining(quantity)])
      expect((await device.ask("GET", asked)).body).toEqual(there.body)
    }
  })

  it("lose their data with the account of their person, and keep what is unsent", async () => {
    const { token, user_id } = await person(["products.view", "products.edit", "products.access"])
    const product = await make("products", { name: "Lamp of the competition" })
    const folder = join(business.folder, "laptop")
    const device = await enrolDevice(folder, { name: "one", url: business.url, token, device: "laptop" })
    try {
      expect(
        (await device.ask({ method: "PUT", path: `/api/v1/products/${product.id}`, query: [], body: { sku: "L-1" } }))
          .status
      ).toBe(200)
      expect((await business.ask("DELETE", `users/${user_id}`)).status).toBeLessThan(300)
      await expect(device.sync()).rejects.toMatchObject({ kind: "revoked" })
      expect(readdirSync(folder).filter((name) => name.startsWith("replica"))).toEqual([])
      expect(readUnsent(folder)).toMatchObject({
        commands: [{ n: 1, state: "pending", payload: { body: { sku: "L-1" } } }]
      })
    } finally {
      await device.close()
    }
  })

  it("hear no more, while they wait for news, than their person still may when it comes", async () => {
    const { token, user_id, grant } = await person(["products.view", "products.access", "costs.view"])
    const viewer = await business.run(
      Effect.gen(function* () {
        const store = yield* Store
        return viewerOf((yield* store.get(users, user_id))!, yield* store.find(roles, {}), { id: 1, abilities: ["*"] })
      })
    )
    const read = (query: ReadonlyArray<readonly [string, string]>, meanwhile: () => Promise<unknown>) =>
      business.run(
        shapeAnswer(catalogue, { viewer, replica_id: 0, query: [["table", "journal"], ...query] }).pipe(
          Effect.provideService(JournalTail, {
            mark: Effect.succeed(0),
            grown: () => Effect.asVoid(Effect.promise(meanwhile))
          })
        )
      )
    const first = await read([["offset", "-1"]], async () => {})
    const place = [
      ["offset", first.headers!["electric-offset"]!],
      ["handle", first.headers!["electric-handle"]!],
      ["live", "true"]
    ] as const
    const answer = await read(place, async () => {
      await make("products", { name: "Before", purchase_price: "1.11" })
      await grant(["products.view", "products.access"])
      await make("products", { name: "After", purchase_price: "2.22" })
    })
    const told = JSON.stringify(answer.body)
    expect([told.includes("Before"), told.includes("After"), told.includes("up-to-date")]).toEqual([true, false, false])
    const next = await business.ask(
      "GET",
      `sync/shape?table=journal&offset=${answer.headers!["electric-offset"]!}&handle=${place[1][1]}`,
      undefined,
      token
    )
    expect(next.status).toBe(409)
  })

  it("are filled anew by a release whose tables are others, when their journal tells things in part", async () => {
    const { token } = await person(["stock.view"])
    const product = await make("products", { name: "Lamp", weight: "1.5" })
    const device = await enrol(token, { snapshot_beyond: Number.POSITIVE_INFINITY })
    const rows = async () => (await device.tables())["products"]!.map((row) => [row["id"], row["name"], row["weight"]])
    expect(await rows()).toEqual([[product.id, "Lamp", "1.5000"]])
    // As a release told it that knew no weight of products.
    await device.run(
      Effect.flatMap(Store, (store) =>
        store.transaction(
          Effect.gen(function* () {
            expect(
              yield* store.run(
                "update journal set data = json_remove(data, '$.changes[0].row.weight') where type = 'rows.told' and stream = ? returning position",
                [`product:${product.id}`]
              )
            ).toHaveLength(1)
            yield* store.run(
              "update flightcase_meta set value = 'create table \"products\" (of another release)' where key = 'tables'"
            )
          })
        )
      )
    )
    await device.restart()
    expect(await rows()).toEqual([[product.id, "Lamp", null]])
    await device.sync()
    expect(await rows()).toEqual([[product.id, "Lamp", "1.5000"]])
    expect(await examined(device, Number.POSITIVE_INFINITY)).toEqual([])
  })

  it.each(["Sales", "Warehouse", "Read Only"].flatMap((name) => fills.map((fill) => [name, ...fill] as const)))(
    "%s: rows are as the server has them after all kinds of commands, filled %s",
    async (name, _, snapshot_beyond) => {
      for (const { method, path, body } of seed_data) await business.ask(method, path.slice("/api/v1/".length), body)
      const held = permissionsOfRole(name)
      const { token, user_id } = await person(held)
      const device = await enrol(token, { snapshot_beyond, limit: 1_000 })
      // Without an account nobody is told anything; that is another test's.
      const account = new RegExp(`/users/${user_id}(/|$)`)
      const chance = randomOf(Number(process.env["SIM_SEED"] ?? 11))
      const look: Look = (sql, values = []) =>
        business.run(
          Effect.flatMap(Store, (store) => store.run(sql, values as ReadonlyArray<string>))
        ) as ReturnType<Look>
      let taken = 0
      for (const endpoint of [...commandKinds, ...commandKinds]) {
        const request = await anyCommand(chance, look, endpoint)
        if (account.test(request.path)) continue
        if ((await business.ask(request.method, request.path.slice("/api/v1/".length), request.body)).status < 300)
          taken++
      }
      expect(taken).toBeGreaterThan(100)
      await device.sync()
      expect(await examined(device, snapshot_beyond)).toEqual([])
    },
    300_000
  )
})

/** As people read what release 0.1 told by ids. */
const read = <Told extends JsonObject>(told: Told): Told & JsonObject => ({
  ...told,
  ...(typeof told["what"] === "string" ? { what: readRow(told["what"]) } : {}),
  ...(typeof told["to"] === "string" ? { to: readRow(told["to"]) } : {})
})
const readRow = (text: string): string =>
  text
    .replace(/opportunity (\d+) /, "order id $1 ")
    .replace(/^stock level \d+ /, "asset ")
    .replace(/^(member|product|role) \d+ /, "$1 ")
    .replace(/^(member|role) (\d+)$/, "$1 id $2")
const asRelease01 = (outcome: JsonObject): JsonObject => outcome
const asNow = (outcome: JsonObject): JsonObject => JSON.parse(JSON.stringify(readOutcome(catalogue, outcome)))

describe.each([
  ["in the sentences of release 0.1", asRelease01],
  ["by table and key", asNow]
])("what a device keeps of commands %s, cut to what its person sees", (_, written) => {
  const kept = (held: ReadonlyArray<string>, one: JsonObject, viewer: Partial<Viewer> = {}) =>
    redactionOfOutbox(catalogue, redactionFor(catalogue, { ...viewerWith(held, ["*"]), ...viewer }, 7))
      .account(written({ changes: [one] }))
      .changes?.map((change) => changeInWords(catalogue, change))
  const change = { who: "Kim", when: "2026-06-18T12:00:00.000Z", event: "member.updated" }
  it("names nobody whose name is not for them", () => {
    const told = { ...change, what: "member 7 Quillon Industries", field: null, from: null, to: null }
    expect(kept(["members.view"], told)).toEqual([read(told)])
    expect(kept(["stock.view"], told)).toEqual([read({ ...told, what: "member 7" })])
    expect(kept(["products.view"], told)).toBeUndefined()
    expect(kept([], { ...told, what: "role 3 Counter" })).toEqual([read({ ...told, what: "role 3" })])
    expect(kept([], { ...told, what: "role 3 Counter" }, { role_ids: [3] })).toEqual([
      read({ ...told, what: "role 3 Counter" })
    ])
  })
  it("tells nothing of custom fields of rows seen in part", () => {
    const told = { ...change, what: "product 7 Lamp", field: "custom_fields.supplier", from: null, to: "Shady & Sons" }
    expect(kept(["products.view"], told)).toEqual([read(told)])
    expect(kept(["stock.view"], told)).toBeUndefined()
  })
  it.each([
    ["product 7 Lamp", "2 by opportunity 8 Secret gala from 2026-07-01 to 2026-07-04"],
    ["stock level 7 MH-1", "opportunity 8 Secret gala from 2026-07-01 to 2026-07-04"]
  ])("does not say of %s that it is held by what they do not see", (what, to) => {
    const told = { ...change, what, field: "held_by", from: null, to }
    expect(kept(["opportunities.view"], told)).toEqual([read(told)])
    expect(kept(["products.view"], told)).toBeUndefined()
    expect(kept(["products.view", "availability.view"], told)).toEqual([read(told)])
  })
  it("tells of somebody erased what does not identify them", () => {
    const scrub = {
      streams: ["member:7"],
      placeholders: { name: "Anonymised Member", description: null, number: "Anonymised" }
    }
    const account = (one: JsonObject, also: ReadonlyArray<string> = []) =>
      redactionOfOutbox(catalogue, redactionFor(catalogue, viewerWith(["members.view"], ["*"]), 7), {
        scrubs: [{ ...scrub, streams: [...scrub.streams, ...also], kept: { custom_fields: ["4", "diet"] } }],
        user_names: new Set([change.who, "Kim"])
      })
        .account(written({ merged: [one] }))
        .merged?.map((merged) => overwrittenInWords(catalogue, merged))
    const { who: kim, when } = change
    const told = { who: kim, when, what: "member 7 Quillon", field: "rating", was: 1, theirs: 2, mine: 3 }
    expect(account(told)).toEqual([read({ ...told, what: "member 7" })])
    expect(account({ ...told, field: "description", theirs: "Pays late" })).toBeUndefined()
    expect(account({ ...told, what: "member 8 Kim", field: "description" })).toEqual([
      read({ ...told, what: "member 8 Kim", field: "description" })
    ])
    expect(account({ ...told, what: "phone 3", field: "number", theirs: "0171 1" })).toBeUndefined()
    expect(account({ ...told, what: "product 7 Lamp" })).toBeUndefined()
    expect(account({ ...told, field: "custom_fields.blood_group", theirs: "AB" })).toBeUndefined()
    // Once a user was erased, a name no user has by now may be theirs.
    const who = (name: string | null, also?: ReadonlyArray<string>) => account({ ...told, who: name }, also)
    expect(who("Quillon")).toMatchObject([{ who: "Quillon" }])
    expect(who("Quillon", ["user:9"])).toMatchObject([{ who: "Anonymised Member" }])
    for (const name of ["Kim", "user 12", null]) expect(who(name, ["user:9"])).toMatchObject([{ who: name }])
  })
  it("says nothing of settings that guard the interface, nor of what is no row", () => {
    const told = { ...change, what: "setting api.rate_limit", field: "value", from: 600, to: 5 }
    expect(kept(["settings.view"], told)).toEqual([read(told)])
    expect(kept(["stock.view"], told)).toBeUndefined()
    expect(kept(["stock.view"], { ...told, what: "setting company.timezone" })).toEqual([
      { ...told, what: "setting company.timezone" }
    ])
    expect(kept(["stock.view"], { ...told, what: "secret 7" })).toBeUndefined()
  })
})

describe("outcomes of commands", () => {
  it("name an erased user by the placeholder, whoever else has their name", () => {
    const change = {
      actor: { id: 9, name: "Kim" },
      when: "2026-06-18T12:00:00.000Z",
      row: { table: "products", key: 7, name: "2 by opportunity 8 from A to B" },
      event: "product.updated",
      field: "name",
      from: "Lamp",
      to: "Lamp 2"
    }
    const erasures = {
      scrubs: [{ streams: ["member:7", "user:9"], placeholders: { name: "Anonymised Member" } }],
      user_names: new Set(["Kim"])
    }
    const left = (actor: JsonObject) =>
      redactionOfOutbox(catalogue, redactionFor(catalogue, viewerWith(["products.view"], ["*"]), 7), erasures).account({
        changes: [{ ...change, actor }]
      }).changes
    expect(left(change.actor)).toEqual([{ ...change, actor: { id: 9, name: "Anonymised Member" } }])
    expect(left({ id: 10, name: "Kim" })).toEqual([{ ...change, actor: { id: 10, name: "Kim" } }])
  })
  it("that cannot be read are left out", () => {
    expect(readOutcome(catalogue, { changes: [{ row: "product 7" }] })).toEqual({})
    expect(readOutcome(catalogue, { changes: [{ what: "secret 7", who: null }] })).toEqual({ changes: [] })
  })
})

describe("redaction", () => {
  const tablesWith = (change: (name: string) => object): Catalogue => ({
    ...catalogue,
    tables: catalogue.tables.map((table) => ({ ...table, ...change(table.name) }))
  })
  const fingerprint = (held: ReadonlyArray<string>, of: Catalogue = catalogue) =>
    redactionFor(of, viewerWith(held, ["*"]), 7).fingerprint
  it("is another where a release shows more or less for the same permissions, but for those it concerns not", () => {
    const less = tablesWith((name) =>
      name === "opportunities"
        ? {
            visibility: {
              all_columns: ["opportunities.*"],
              granted_columns: [{ to: ["containers.*"], columns: ["subject"] }]
            }
          }
        : {}
    )
    expect(fingerprint(["containers.view"], less)).not.toBe(fingerprint(["containers.view"]))
    expect(fingerprint(["action-log.view", "costs.view"], less)).toBe(fingerprint(["action-log.view", "costs.view"]))
    const guards = tablesWith((name) =>
      name === "stores"
        ? {
            columns: {
              ...catalogue.table("stores").columns,
              phone: { ...catalogue.table("stores").columns["phone"], visible_to: "costs.view" }
            }
          }
        : {}
    )
    expect(fingerprint(["action-log.view"], guards)).not.toBe(fingerprint(["action-log.view"]))
    const more = tablesWith((name) =>
      name === "stores"
        ? { columns: { ...catalogue.table("stores").columns, fax: catalogue.table("stores").columns["phone"] } }
        : {}
    )
    expect(fingerprint(["containers.view"], more)).not.toBe(fingerprint(["containers.view"]))
    expect(fingerprint(["containers.view"])).toBe(fingerprint(["containers.view"]))
  })
  it("takes views away of which an event of old says only what changed", () => {
    const see = (data: JsonObject) =>
      redactionFor(catalogue, { ...viewerWith([], ["*"]), role_ids: [3] }, 7).see({
        type: "custom_view.updated",
        data,
        replica_id: null,
        recorded_at: "2026-06-18T12:00:00.000Z"
      })?.data["changes"]
    const gone = [{ op: "delete", table: "custom_views", key: 6 }]
    expect(see({ id: 6, name: "My rivals" })).toEqual(gone)
    expect(see({ id: 6, visibility: "shared", user_id: null, role_ids: [3] })).toEqual(gone)
  })
})
