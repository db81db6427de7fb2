/**
 * Data that could reach or stay on a device other than by table rows: events without a table, releases, accounts, old
 * journals.
 */
import { readdirSync } from "node:fs"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { catalogue } from "../../../core/catalogue.ts"
import type { Catalogue } from "../../../core/kernel/endpoints/endpoint.ts"
import type { JsonObject } from "../../../core/kernel/fields/field.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import type { Viewer } from "../../../core/kernel/fields/rejection.ts"
import { roles, users, viewerOf } from "../../../core/people/users/permissions.ts"
import { redactionFor } from "../../../sync/protocol/redaction.ts"
import { JournalTail, makeJournalTail, shapeAnswer } from "../../../sync/server/shape.ts"
import { replica_verdicts } from "../../../sync/server/tables.ts"
import { redactionOfOutbox } from "../../../sync/device/outbox/redact-outbox.ts"
import { readOutcome } from "../../../sync/device/outbox/outcome.ts"
import { changeInWords, overwrittenInWords } from "../../../sync/device/outcomes/describe-event.ts"
import { RemoteError } from "../../../sync/device/exchange/remote.ts"
import { readUnsent } from "../../../sync/device/outbox/unsent.ts"
import { permissionsOfRole, plays_everything, viewerWith } from "../../app.ts"
import { anyCommand, commandKinds, type Look } from "../../sim/any-command.ts"
import { randomOf } from "../../sim/random.ts"
import { seed_data } from "../../sim/seed-data.ts"
import { fills, type Hooks, type InspectedDevice, sql } from "../inspected-device.ts"
import { serverOfEachTest, serverOfSuite } from "../opening.ts"

const from_events = { snapshot_beyond: Number.POSITIVE_INFINITY }

describe("devices of users with few permissions", () => {
  const server = serverOfSuite()
  const { create, filled, grant, person } = server
  const of = async (permissions: ReadonlyArray<string>): Promise<string> => (await person({ permissions })).secret
  /** A network that fails while it is not open. */
  const network = () => {
    const hooks = {
      open: true,
      before_push: () => {
        if (!hooks.open) throw new RemoteError(500, { message: "The server is out of order." })
      }
    }
    return hooks
  }
  const outOfOrder = (device: InspectedDevice) => expect(device.sync()).rejects.toThrow("out of order")

  it.each(fills)("hold others' token names only with action-log.view, filled %s", async (_, snapshot_beyond) => {
    await create("/tokens", { name: "Laptop of the auditor", abilities: ["*"] })
    const device = await filled({ snapshot_beyond }, await of(["products.view", "products.access"]))
    await create("/tokens", { name: "Phone of the auditor", abilities: ["*"] })
    await device.sync()
    expect(device.holds("of the auditor", "")).toEqual([])
    const auditor = await filled(from_events, await of(["action-log.view"]))
    expect(auditor.holds("of the auditor")).not.toEqual([])
  })

  it.each(fills)("keep no data of a person anonymised before a refill %s", async (_, snapshot_beyond) => {
    const rights = ["members.access", "members.view", "members.edit"]
    const ann = await person({ permissions: rights })
    const [name, tax_number] = [`Zacharias ${snapshot_beyond}`, `TAX-${snapshot_beyond}-8177`]
    const id = await server.contact({ name, tax_number })
    const hooks = network()
    const device = await filled({ snapshot_beyond, ...hooks } satisfies Hooks, ann.secret)
    hooks.open = false
    await device.must("PUT", `/members/${id}`, { rating: 3 })
    expect(device.holds(tax_number, "").some((file) => file.startsWith("outbox"))).toBe(true)
    await server.must("POST", `/members/${id}/anonymise`, {})
    // After a refill no event reports the erasure.
    await grant(ann, [...rights, "costs.view"])
    await outOfOrder(device)
    expect([device.holds(tax_number, ""), device.holds(name, "")]).toEqual([[], []])
    expect(device.outbox.counts()).toEqual({ pending: 1 })
  })
  it.each(fills)(
    "keep no data of an anonymised person in their outbox, nor does the server in its verdicts, filled %s",
    async (_, snapshot_beyond) => {
      const secret = await of(["members.access", "members.view", "members.create", "members.edit"])
      const hooks = network()
      const device = await filled({ snapshot_beyond, ...hooks } satisfies Hooks, secret)
      const [name, tax_number] = [`Quill ${snapshot_beyond}`, `TAX-${snapshot_beyond}-8178`]
      const path = `/members/${await device.contact({ name, tax_number })}`
      await device.sync()
      hooks.open = false
      await device.must("PUT", path, { rating: 3 })
      await outOfOrder(device)
      expect(device.holds(tax_number, "").length).toBeGreaterThan(0)
      await server.must("POST", `${path}/anonymise`, {})
      await outOfOrder(device)
      expect([device.holds(tax_number, ""), device.holds(name, "")]).toEqual([[], []])
      expect(device.outbox.counts()).toEqual({ accepted: 1, pending: 1 })
      const kept = await server.run(
        Effect.flatMap(Store, (store) => store.find(replica_verdicts, { replica_id: device.id }))
      )
      expect(kept).toHaveLength(1)
      expect(JSON.stringify(kept)).not.toContain(name)
      hooks.open = true
      await device.sync()
      expect(device.outbox.counts()).toEqual({ accepted: 2 })
      expect(await server.show(path)).toMatchObject({ name: "Anonymised Member", rating: 3 })
    }
  )

  it("answer availability as of earlier times like the server, also for merged products", async () => {
    const [lamp, secondary_id] = [await server.product(), await server.product()]
    await server.hold(lamp, 5)
    await server.hold(secondary_id, 3)
    const moment = new Date().toISOString()
    // Events of the same millisecond count as already received.
    await new Promise((resolve) => setTimeout(resolve, 5))
    await server.must("POST", `/products/${lamp}/merge`, { secondary_id })
    const secret = await of(["availability.view"])
    const device = await filled(from_events, secret)
    const window = "store_id=1&from=2026-12-01T00:00:00Z&to=2026-12-02T00:00:00Z"
    for (const [as_of, quantity] of [
      [moment, "5"],
      [new Date().toISOString(), "8"]
    ] as const) {
      const asked = `/availability?product_id=${lamp}&${window}&as_of=${as_of}`
      const there = await server.get(asked, secret)
      expect([there.status, JSON.stringify(there.body)]).toEqual([200, expect.stringContaining(quantity)])
      expect((await device.get(asked)).body).toEqual(there.body)
    }
  })

  it("lose their data when the account is deactivated, and keep unsent commands", async () => {
    const { secret, user_id } = await person({ permissions: ["products.view", "products.edit", "products.access"] })
    const product = await server.product()
    const device = await server.enrol("laptop", secret)
    await device.must("PUT", `/products/${product}`, { sku: "L-1" })
    await server.must("DELETE", `/users/${user_id}`)
    await expect(device.sync()).rejects.toMatchObject({ kind: "revoked" })
    expect(readdirSync(device.folder).filter((name) => name.startsWith("replica"))).toEqual([])
    const commands = [{ n: 1, state: "pending", payload: { body: { sku: "L-1" } } }]
    expect(readUnsent(device.folder)).toMatchObject({ commands })
  })

  it("receive no event that their user lost the permission to see while they waited", async () => {
    const ann = await person({ permissions: ["products.view", "products.access", "costs.view"] })
    const viewer = await server.run(
      Effect.gen(function* () {
        const store = yield* Store
        const user = (yield* store.get(users, ann.user_id))!
        return viewerOf(user, yield* store.find(roles, {}), { id: 1, abilities: ["*"] })
      })
    )
    let is_current = true
    const read = (query: ReadonlyArray<readonly [string, string]>, meanwhile: () => Promise<unknown>) =>
      server.run(
        shapeAnswer(catalogue, { viewer, replica_id: 0, query: [["table", "journal"], ...query] }).pipe(
          Effect.provideService(JournalTail, {
            ...makeJournalTail({ isCurrent: () => is_current }).tail,
            grown: () => Effect.asVoid(Effect.promise(meanwhile))
          })
        )
      )
    const first = await read([["offset", "-1"]], async () => {})
    const [offset, handle] = [first.headers!["electric-offset"]!, first.headers!["electric-handle"]!]
    const liveFrom = (at: string) =>
      [
        ["offset", at],
        ["handle", handle],
        ["live", "true"]
      ] as const
    const answer = await read(liveFrom(offset), async () => {
      await server.product({ name: "Before it", purchase_price: "1.11" })
      await grant(ann, ["products.view", "products.access"])
      await server.product({ name: "After it", purchase_price: "2.22" })
    })
    const told = JSON.stringify(answer.body)
    expect(["Before it", "After it", "up-to-date"].map((words) => told.includes(words))).toEqual([true, false, false])
    const rest = await read(liveFrom(answer.headers!["electric-offset"]!), async () => {})
    // Once the server learns of a change while they wait, they must ask again.
    const end = rest.headers!["electric-offset"]!
    const { body, headers } = await read(liveFrom(end), async () => {
      is_current = false
    })
    expect([body, headers!["electric-offset"], headers!["electric-up-to-date"]]).toEqual([[], end, undefined])
    // Without a wait, rights are those of the request.
    expect(JSON.stringify((await read(liveFrom(offset), async () => {})).body)).toContain("Before it")
    const on = `offset=${answer.headers!["electric-offset"]!}&handle=${handle}`
    expect((await server.get(`/sync/shape?table=journal&${on}`, ann.secret)).status).toBe(409)
  })

  it("are refilled when a release changes the tables if their journal has redacted events", async () => {
    const id = await server.product({ weight: "1.5" })
    const device = await filled(from_events, await of(["stock.view"]))
    const weight = async () => (await device.tables())["products"]!.find((row) => row["id"] === id)!["weight"]
    expect(await weight()).toBe("1.5000")
    // As sent by a release without product weights.
    await device.run(
      sql(
        `update journal set data = json_remove(data, '$.changes[0].row.weight') where type = 'rows.told' and stream = 'product:${id}'`,
        "update flightcase_meta set value = 'create table \"products\" (of another release)' where key = 'tables'"
      )
    )
    await device.restart()
    expect(await weight()).toBe(null)
    await device.sync()
    expect(await weight()).toBe("1.5000")
    expect(await device.problems()).toEqual([])
  })
})

describe("devices after every kind of command", () => {
  const server = serverOfEachTest()
  const people = ["Sales", "Warehouse", "Read Only"].flatMap((name) => fills.map((fill) => [name, ...fill] as const))
  it.each(plays_everything ? people : [people[0]!, people[5]!])(
    "hold the rows the role %s may see, equal to the server's, filled %s",
    async (name, _, snapshot_beyond) => {
      for (const { body, method, path } of seed_data) await server.call(method, path.slice("/api/v1".length), body)
      const { secret, user_id } = await server.person({ permissions: permissionsOfRole(name) })
      const device = await server.filled({ snapshot_beyond, limit: 1_000 }, secret)
      // Users without an account get nothing; see another test.
      const account = new RegExp(`/users/${user_id}(/|$)`)
      const chance = randomOf(Number(process.env["SIM_SEED"] ?? 11))
      const look: Look = (text, values = []) =>
        server.run(
          Effect.flatMap(Store, (store) => store.run(text, values as ReadonlyArray<string>))
        ) as ReturnType<Look>
      let taken = 0
      for (const endpoint of plays_everything ? [...commandKinds, ...commandKinds] : commandKinds) {
        const { body, method, path } = await anyCommand(chance, look, endpoint)
        if (!account.test(path) && (await server.call(method, path.slice("/api/v1".length), body)).status < 300) taken++
      }
      expect(taken).toBeGreaterThan(plays_everything ? 100 : 50)
      await device.sync()
      expect(await device.problems()).toEqual([])
    },
    300_000
  )
})

/** Makes ids of release 0.1 readable. */
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
  ["as sentences of release 0.1", asRelease01],
  ["by table and key", asNow]
])("redacted outcomes of commands, stored %s,", (_, written) => {
  const kept = (held: ReadonlyArray<string>, one: JsonObject, viewer: Partial<Viewer> = {}) =>
    redactionOfOutbox(catalogue, redactionFor(catalogue, { ...viewerWith(held, ["*"]), ...viewer }, 7))
      .account(written({ changes: [one] }))
      .changes?.map((change) => changeInWords(catalogue, change))
  const change = { who: "Kim", when: "2026-06-18T12:00:00.000Z", event: "member.updated" }
  it("omit names the user may not see", () => {
    const told = { ...change, what: "member 7 Quillon Industries", field: null, from: null, to: null }
    expect(kept(["members.view"], told)).toEqual([read(told)])
    expect(kept(["stock.view"], told)).toEqual([read({ ...told, what: "member 7" })])
    expect(kept(["products.view"], told)).toBeUndefined()
    expect(kept([], { ...told, what: "role 3 Counter" })).toEqual([read({ ...told, what: "role 3" })])
    expect(kept([], { ...told, what: "role 3 Counter" }, { role_ids: [3] })).toEqual([
      read({ ...told, what: "role 3 Counter" })
    ])
  })
  it("omit custom fields of partly visible rows", () => {
    const told = { ...change, what: "product 7 Lamp", field: "custom_fields.supplier", from: null, to: "Shady & Sons" }
    expect(kept(["products.view"], told)).toEqual([read(told)])
    expect(kept(["stock.view"], told)).toBeUndefined()
  })
  it.each([
    ["product 7 Lamp", "2 by opportunity 8 Secret gala from 2026-07-01 to 2026-07-04"],
    ["stock level 7 MH-1", "opportunity 8 Secret gala from 2026-07-01 to 2026-07-04"]
  ])("omit the order that holds %s if the user may see neither orders nor availability", (what, to) => {
    const told = { ...change, what, field: "held_by", from: null, to }
    expect(kept(["opportunities.view"], told)).toEqual([read(told)])
    expect(kept(["products.view"], told)).toBeUndefined()
    expect(kept(["products.view", "availability.view"], told)).toEqual([read(told)])
  })
  it("keep only values of an anonymised person that do not identify them", () => {
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
    // After a user was erased, any name without a user may be theirs.
    const who = (name: string | null, also?: ReadonlyArray<string>) => account({ ...told, who: name }, also)
    expect(who("Quillon")).toMatchObject([{ who: "Quillon" }])
    expect(who("Quillon", ["user:9"])).toMatchObject([{ who: "Anonymised Member" }])
    for (const name of ["Kim", "user 12", null]) expect(who(name, ["user:9"])).toMatchObject([{ who: name }])
  })
  it("omit guarded settings and values that are not rows", () => {
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
  it("name an anonymised user by the placeholder, even if another user has the same name", () => {
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
  it("are omitted if they cannot be read", () => {
    expect(readOutcome(catalogue, { changes: [{ row: "product 7" }] })).toEqual({})
    expect(readOutcome(catalogue, { changes: [{ what: "secret 7", who: null }] })).toEqual({ changes: [] })
  })
})

describe("redaction for readers", () => {
  const tablesWith = (change: (name: string) => object): Catalogue => ({
    ...catalogue,
    tables: catalogue.tables.map((table) => ({ ...table, ...change(table.name) }))
  })
  const fingerprint = (held: ReadonlyArray<string>, of: Catalogue = catalogue) =>
    redactionFor(of, viewerWith(held, ["*"]), 7).fingerprint
  it("has a new fingerprint if a release shows readers more or less than the previous one", () => {
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
})
