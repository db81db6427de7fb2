/**
 * All data that enters sync is decoded: data of release 0.1 is accepted, keys of later releases are ignored, and an
 * invalid value is refused by its key before any change.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Schema } from "effect"
import fc from "fast-check"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { catalogue } from "../../../core/catalogue.ts"
import { wholeNumber } from "../../../core/kernel/tables/field-schema.ts"
import type { Json, JsonObject } from "../../../core/kernel/fields/field.ts"
import { DeviceFailure, readProfile, writeProfile } from "../../../sync/device/outbox/folder.ts"
import {
  decodeCommandRow,
  decodeLeaseRequestRow,
  decodeLeaseRow,
  decodeMetaRow,
  decodeOutcome,
  decodeDoneEffects,
  decodeRecordedEffects,
  decodeWithdrawn
} from "../../../sync/device/outbox/rows.ts"
import { openOutboxAt } from "../../../sync/device/outbox/outbox.ts"
import * as answers from "../../../sync/protocol/answers.ts"
import {
  BundleError,
  bundleFrom,
  decodeAddress,
  decodeEventsBody,
  newSeed,
  readBundle,
  signBundle
} from "../../../sync/protocol/bundle-format.ts"
import { DecodeFailure, decoderOf } from "../../../sync/protocol/wire.ts"
import { eventOfShapeRow } from "../../../sync/protocol/snapshot.ts"
import { releases_folder, releasesIn, unpackFolder } from "../../fixtures/kept/folders.ts"

type Decode = (value: any) => unknown

const error = { status: 422, message: "The name is taken.", errors: { name: ["is taken"] }, cause: "c-1" }
const range = { entity: "products", from: 1, to: 50 }
const server = { schema_version: 2, client_schema_min: 1, public_key: "key" }
const event = {
  position: 7,
  stream: "product:1",
  version: 1,
  type: "product.created",
  data: { name: "Lamp" },
  command_id: "c-1",
  actor_id: 1,
  replica_id: null,
  recorded_at: "2026-06-18T12:00:00.000Z"
}
const row = { ...event, position: "7", version: "1", actor_id: "1", data: JSON.stringify(event.data) }
/** All messages of release 0.1, with every optional key. */
const messages: { readonly [name: string]: readonly [Decode, JsonObject] } = {
  enrolment: [
    answers.decodeEnrolment,
    {
      replica: { id: 1, user_id: 1, abilities: ["*"], public_url: "http://a" },
      lease: [range],
      token: { secret: "1|x" },
      server
    }
  ],
  greeting: [
    answers.decodeGreeting,
    {
      replica: { id: 1, name: "van", last_n: 3 },
      server,
      now: "2026-06-18T12:00:00.000Z",
      copied: false,
      leases: 24,
      push: true,
      signs: true
    }
  ],
  verdicts: [answers.decodeVerdicts, { verdicts: [{ id: "c-1", status: "rejected", position: 7, error }] }],
  lease: [answers.decodeLease, { lease: [range] }],
  plan: [
    answers.decodePlan,
    {
      snapshot: {
        handle: "h",
        position: 7,
        offset: "7_0",
        rows: 10,
        last_n: 3,
        decided: [{ n: 1, id: "c-1", status: "accepted" }],
        leases: [range],
        erased: [{ streams: ["member:7"], placeholders: { name: "Anonymous" }, kept: { custom_fields: ["7"] } }]
      }
    }
  ],
  rows: [
    (body) => answers.decodeRows(catalogue, body),
    {
      page: {
        position: 7,
        offset: "7_0",
        events: [event],
        sections: [{ table: "countries", columns: ["id", "name"], rows: [[1, "Norway"]], done: true }],
        next: null
      }
    }
  ],
  checksums: [
    answers.decodeChecksums,
    {
      page: {
        position: 7,
        sums: [{ table: "products", after: "", through: null, rows: 3, digest: "abc" }],
        next: "products:3"
      }
    }
  ],
  "shape row": [eventOfShapeRow, row],
  refusal: [answers.decodeRefusal, { message: "No.", errors: { name: ["is taken"] } }],
  "bundle's address": [decodeAddress, { replica_id: 1, schema_version: 2 }],
  "events of a bundle": [
    decodeEventsBody,
    {
      replica_id: 1,
      schema_version: 2,
      verdicts: [{ id: "c-1", status: "accepted", position: 7 }],
      pages: [{ anew: true, from: "-1", offset: "7_0", handle: "h", up_to_date: true, rows: [row] }],
      complete: true,
      leases: [{ entity: "products", request_no: 2, ranges: [range] }],
      remembered: { last_n: 3, leases: [range], shown: [range] }
    }
  ],
  bundle: [bundleFrom, { ...signBundle("commands", { replica_id: 1 }, newSeed(), "2026-06-18T12:00:00.000Z") }]
}
/** Documents and lists whose content is not declared. */
const free = /(^|\.)(data|placeholders|body)(\.|$)|\.rows\.0\.\d+$|^pages\.0\.rows\.0\./

/** All paths of a message except those inside undeclared content. */
const placesIn = (value: Json, path: ReadonlyArray<string> = []): ReadonlyArray<ReadonlyArray<string>> => [
  ...(path.length === 0 ? [] : [path]),
  ...(typeof value === "object" && value !== null
    ? Object.entries(value).flatMap(([key, one]: [string, Json]) => placesIn(one, [...path, key]))
    : [])
]
const withValue = (of: Json, [key, ...rest]: ReadonlyArray<string>, value: unknown): any => {
  const copy: any = Array.isArray(of) ? [...of] : { ...(of as object) }
  copy[key!] = rest.length === 0 ? value : withValue(copy[key!], rest, value)
  return copy
}
const kindOf = (value: unknown): string => (value === null ? "null" : Array.isArray(value) ? "array" : typeof value)

describe.each(Object.entries(messages))("the sync message '%s'", (_, [decode, message]) => {
  it("is decoded as release 0.1 sends it, and with keys of a later release", () => {
    expect(() => decode(message)).not.toThrow()
    expect(() => decode({ ...message, later: { anything: [1] } })).not.toThrow()
    for (const [key, value] of Object.entries(message))
      if (typeof value === "object" && value !== null && !Array.isArray(value) && !["errors"].includes(key))
        expect(() => decode({ ...message, [key]: { ...value, later: 1 } }), key).not.toThrow()
  })
  it("is refused, naming the key, if any value has another type", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...placesIn(message).filter((path) => !free.test(path.join(".")))),
        fc.constantFrom<Json>(null, true, 3, "garbage", [], {}, [[1]], { a: { b: 1 } }, 1.5),
        (path, value) => {
          const there = path.reduce<any>((at, key) => at[key], message)
          const given = withValue(message, path, value)
          try {
            decode(given)
          } catch (failure) {
            if (!(failure instanceof DecodeFailure || failure instanceof BundleError)) throw failure
            expect(failure.message).toMatch(/: |The bundle has version|This file is no bundle/)
            return
          }
          // Accepted values are empty, or of a kind that was or may be there.
          const harmless =
            kindOf(value) === kindOf(there) ||
            (Array.isArray(value) && value.length === 0) ||
            kindOf(value) === "null" ||
            kindOf(there) === "null" ||
            (kindOf(value) === "object" && Object.keys(value as object).length === 0)
          if (!harmless) throw new Error(`${path.join(".")} may be ${JSON.stringify(value)}`)
        }
      ),
      { numRuns: 400 }
    )
  })
  it("is refused if it is not an object", () => {
    for (const value of [null, undefined, 1, "text", []])
      expect(() => decode(value)).toThrow(expect.objectContaining({ name: expect.stringMatching(/Failure|Fault/) }))
  })
})
describe("rows of a page", () => {
  const page = (columns: ReadonlyArray<string>, ...rows: ReadonlyArray<ReadonlyArray<Json>>) => ({
    page: {
      position: 1,
      offset: "1_0",
      events: [],
      next: null,
      sections: [{ table: "products", columns, rows, done: true }]
    }
  })
  const read = (...of: Parameters<typeof page>) => answers.decodeRows(catalogue, page(...of))
  it("must have values of their columns' types; columns of a later release are ignored", () => {
    expect(() => read(["id", "name", "later"], [1, "Lamp", { any: 1 }])).not.toThrow()
    expect(() => read(["id", "product_type"], [1, "of a later release"])).not.toThrow()
    expect(() => read(["id", "name"], [1, "Lamp"], [2, 5])).toThrow(/products, row 1, name: Expected text/)
    expect(() => read(["id", "name"], [1, null])).toThrow(DecodeFailure)
    expect(() => read(["id", "name"], [1])).toThrow(/products, row 0: Expected 2 values/)
    expect(() => read(["id", "weight"], [1, 1.5])).toThrow(DecodeFailure)
  })
})

describe.each(releasesIn(releases_folder))("a device's folder of release %s", (release) => {
  let home: string
  const folders: ReadonlyArray<string> = ["default", "counter"]
  beforeAll(() => {
    home = mkdtempSync(join(tmpdir(), "flightcase-borders-"))
    unpackFolder(join(releases_folder, release, "home"), home)
  })
  afterAll(() => rmSync(home, { recursive: true, force: true }))
  const folder = (name: string): string => join(home, "profiles", name)
  /** Copies a device's folder, to damage it. */
  const copyOf = (name: string): string => {
    const to = mkdtempSync(join(home, "copy-"))
    cpSync(folder(name), to, { recursive: true })
    return to
  }

  it("has a profile that keeps unknown keys, and is refused, naming an invalid key, without its secrets", () => {
    for (const name of folders) {
      const text = readFileSync(join(folder(name), "profile.json"), "utf8")
      const profile: JsonObject = JSON.parse(text)
      expect(readProfile(folder(name))).toEqual(profile)
      const copy = copyOf(name)
      const write = (of: unknown) => writeFileSync(join(copy, "profile.json"), JSON.stringify(of))
      write({ ...profile, later: { any: 1 } })
      writeProfile(copy, { ...readProfile(copy), device: "renamed" })
      expect(JSON.parse(readFileSync(join(copy, "profile.json"), "utf8"))).toEqual({
        ...profile,
        device: "renamed",
        later: { any: 1 }
      })
      for (const key of Object.keys(profile))
        for (const value of [null, true, { a: 1 }, [[1]]]) {
          write({ ...profile, [key]: value })
          expect(() => readProfile(copy), key).toThrow(
            expect.objectContaining({
              kind: "profile damaged",
              message: expect.stringContaining(`${key}`),
              way_out: expect.stringContaining("--set-aside")
            })
          )
        }
      for (const value of [null, 1, [], "text"]) {
        write(value)
        expect(() => readProfile(copy)).toThrow(DeviceFailure)
      }
      // Errors show no secrets.
      write({ ...profile, token: 5, key: "a-secret", user_id: "a-secret" })
      expect(() => readProfile(copy)).toThrow(
        expect.not.objectContaining({ message: expect.stringContaining("a-secret") })
      )
    }
  })

  /** Rows whose existence is checked, but whose columns are never read. */
  const decodeLostIdsRow = decoderOf("lost ids", () =>
    Schema.Struct({ entity: Schema.String, first: wholeNumber, last: wholeNumber, up_to_n: wholeNumber })
  )
  const decodeReferenceRow = decoderOf("a reference of a command", () =>
    Schema.Struct({ thing: Schema.String, n: wholeNumber, made: Schema.Literals([0, 1]) })
  )
  const decodeUndoingRow = decoderOf("what a command undoes", () =>
    Schema.Struct({ undone: Schema.String, n: wholeNumber })
  )
  /** Tables of the outbox, with the decoders of their rows. */
  const tables: { readonly [table: string]: Decode } = {
    commands: (given) => {
      decodeCommandRow(given)
      if (given.outcome !== null) decodeRecordedEffects(given.outcome)
      if (given.account !== null) decodeOutcome(given.account)
      if (given.done !== null) decodeDoneEffects(given.done)
    },
    leases: decodeLeaseRow,
    lease_requests: decodeLeaseRequestRow,
    lost_ids: decodeLostIdsRow,
    things: decodeReferenceRow,
    undoings: decodeUndoingRow,
    meta: decodeMetaRow
  }
  it("has an outbox whose rows are decoded, and refused if any column has another type", () => {
    for (const name of folders) {
      openOutboxAt(join(folder(name), "outbox.sqlite")).close()
      const db = new DatabaseSync(join(folder(name), "outbox.sqlite"), { readOnly: true })
      const names = db.prepare("select name from sqlite_master where type = 'table'").all()
      expect(names.map((one) => String(one["name"])).sort()).toEqual(Object.keys(tables).sort())
      for (const [table, decode] of Object.entries(tables)) {
        const rows = db.prepare(`select * from ${table}`).all()
        for (const one of rows) expect(() => decode(one)).not.toThrow()
        const [first] = rows.filter((one) => one["outcome"] !== null)
        if (first === undefined) continue
        // SQLite's own columns; sync decides nothing by them.
        for (const column of Object.keys(first).filter((one) => !["settled_before", "seen", "checksum"].includes(one)))
          for (const value of [new Uint8Array([1]), 1.5, ...(typeof first[column] === "number" ? ["garbage"] : [])])
            expect(() => decode({ ...first, [column]: value }), `${table}.${column}`).toThrow(
              expect.objectContaining({ name: "DecodeFailure", message: expect.stringContaining(":") })
            )
      }
      db.close()
    }
  })
  it.each([
    ["ids", '{"products": "many"}'],
    ["needs", '{"not": "a list"}'],
    ["rows_seen", "[1]"],
    ["error", '{"status": "bad"}'],
    ["account", "[]"],
    ["payload", "{"],
    ["state", "unheard of"]
  ])("reports its outbox as damaged, and leaves it unchanged, if a command's %s is invalid", (column, value) => {
    const path = join(copyOf("default"), "outbox.sqlite")
    const change = new DatabaseSync(path)
    // Decided commands have no checksum to match.
    change.prepare(`update commands set ${column} = ? where n = 1`).run(value)
    const before = change.prepare("select * from commands").all()
    change.close()
    const outbox = openOutboxAt(path)
    expect(() => outbox.all()).toThrow(
      expect.objectContaining({
        kind: "outbox damaged",
        message: expect.stringMatching(new RegExp(`command 1 .*${column}`)),
        way_out: expect.stringContaining("export-pending")
      })
    )
    outbox.close()
    const after = new DatabaseSync(path)
    expect(after.prepare("select * from commands").all()).toEqual(before)
    after.close()
  })
  it.each([
    ["leases", "next"],
    ["leases", "last"],
    ["lease_requests", "request_no"]
  ])("refuses to open an outbox in which a row of %s has an invalid %s", (table, column) => {
    const path = join(copyOf("counter"), "outbox.sqlite")
    const change = new DatabaseSync(path)
    change.prepare(`update ${table} set ${column} = 'garbage'`).run()
    change.close()
    expect(() => openOutboxAt(path)).toThrow(
      expect.objectContaining({ kind: "outbox damaged", message: expect.stringContaining(column) })
    )
  })
  it("accepts only a list as its withdrawn command numbers", () => {
    expect(decodeWithdrawn("[1,2]")).toEqual([1, 2])
    expect(() => decodeWithdrawn('{"a":1}')).toThrow(DecodeFailure)
  })
})

it("a bundle with missing keys is refused with a hint about other releases", () => {
  expect(() => decodeEventsBody({ replica_id: 1, schema_version: 2 })).toThrow(
    expect.objectContaining({
      message: expect.stringMatching(/^The bundle cannot be read \(the bundle, verdicts: .*Nothing of it was applied/),
      way_out: expect.stringContaining("another release")
    })
  )
  expect(() => readBundle('{"flightcase_bundle": 1, "kind": "commands"}')).toThrow(/This file is no bundle/)
})
