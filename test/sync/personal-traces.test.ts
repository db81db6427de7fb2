/**
 * Anonymising a person removes their data wherever it was written: rows, journal, stored responses, devices, and the
 * bytes of the files. Fields come from their declarations, so that a new one forgotten in erasure fails here.
 */
import { describe, expect, it } from "vitest"
import { field_types } from "../../core/kernel/lists/custom-field.ts"
import { members } from "../../core/people/members/schema.ts"
import { RemoteError } from "../../sync/device/exchange/remote.ts"
import { engines } from "../app.ts"
import type { Hooks } from "./inspected-device.ts"
import { serverOfEachTest, token } from "./opening.ts"
import {
  contact_table_names,
  exported,
  isMarked,
  mark,
  markedBody,
  markedFiles,
  markedTables,
  number_mark,
  personal_tables,
  recordsOfMember
} from "./traces.ts"
import { bodyRead } from "../answers.ts"

/** Personal values of custom fields by kind; lists and booleans hold none. */
const custom_values: { readonly [type: number]: unknown } = {
  0: `${mark} 0`,
  1: `${mark} 1`,
  2: number_mark,
  7: `${mark}@custom.example`,
  8: `https://${mark.toLowerCase()}.example`,
  12: `${number_mark}.5`,
  13: `${mark} 13`,
  15: `<p>${mark}</p>`,
  16: { [`${mark} key`]: mark },
  17: `${mark} 17`,
  18: number_mark
}
const from_events = { snapshot_beyond: Number.POSITIVE_INFINITY }

describe.each(engines)("anonymising, server on %s", (engine) => {
  const server = serverOfEachTest(engine)
  const { create, must, show } = server
  /** Sends a request with an Idempotency-Key. */
  const keyed = async (key: string, path: string, body: object) => {
    const response = await fetch(`${server.url()}/api/v1${path}`, {
      method: "POST",
      headers: { "authorization": `Bearer ${token}`, "content-type": "application/json", "idempotency-key": key },
      body: JSON.stringify(body)
    })
    const replayed = response.headers.get("idempotent-replayed")
    return { status: response.status, replayed, body: bodyRead(await response.json()) }
  }
  const enrol = (name: string, hooks: Hooks = {}, as?: string) => server.filled(hooks, as, name)
  const counter = async (...permissions: ReadonlyArray<string>): Promise<string> =>
    (await server.person({ permissions })).secret
  const nothingLeft = async (but = "nobody's/") => {
    expect(await markedTables(server)).toEqual([])
    expect(markedFiles(server).filter((file) => !file.startsWith(but))).toEqual([])
    expect(isMarked(await exported(server))).toBe(false)
  }

  it("a contact removes every personal value from tables, files, stored responses and devices", async () => {
    const field = (name: string, field_type: number, more: object = {}) =>
      create("/custom_fields", { name, module_type: "Member", field_type, ...more })
    const custom_fields: { [name: string]: unknown } = { diet: "Vegan" }
    for (const type of Object.keys(field_types)
      .map(Number)
      .filter((one) => custom_values[one] !== undefined)) {
      await field(`personal_${type}`, type, { is_personal: true })
      custom_fields[`personal_${type}`] = custom_values[type]
    }
    await field("diet", 0)
    const gone = await field("gone", 0, { is_personal: true })
    const whole = await enrol("whole", from_events)
    const filled = await enrol("filled")
    const few = await enrol(
      "few",
      from_events,
      await counter("activities.access", "activities.view", "products.view", "products.access")
    )
    const devices = [whole, filled, few]
    const synced = async () => {
      for (const device of devices) await device.sync()
    }

    // Over HTTP with a key, with every field a body may hold.
    const body = { ...markedBody(members), membership_type: "contact", custom_fields }
    const made = await keyed("made", "/members", { ...body, custom_fields: { ...custom_fields, gone: mark } })
    expect([made.status, made.body.member?.name], JSON.stringify(made.body)).toEqual([201, `${mark} name`])
    const { id } = made.body.member
    for (const { path, table } of recordsOfMember()) {
      const record = await keyed(`made-${table.name}`, `/members/${id}${path}`, markedBody(table))
      expect(record.status, JSON.stringify(record.body)).toBe(201)
    }
    // Stored responses that show the person, and one that does not.
    const job = () => keyed("job", "/opportunities?include=venue", { subject: "Spring tour", venue_id: id })
    const lighting = () => keyed("unrelated", "/opportunities", { subject: "Lighting" })
    expect((await job()).body.opportunity.venue?.name).toBe(`${mark} name`)
    const unrelated = await lighting()
    const change = (name: string) => ({ name: `${mark} ${name}`, custom_fields: { personal_0: `${mark} ${name}` } })
    await must("PUT", `/members/${id}`, { ...change("Quill"), tag_list: [`${mark} again`] })
    const double = await create("/members", body)
    await must("POST", `/members/${id}/merge`, { secondary_id: double.id })
    await must("DELETE", `/custom_fields/${gone.id}`)
    await synced()

    // On a device: a member created there, and a change that conflicts with another user's.
    const local = await whole.create("/members", body)
    for (const name of contact_table_names)
      await whole.create(`/members/${local.id}/${name}`, markedBody(personal_tables.find((one) => one.name === name)!))
    await whole.must("PUT", `/members/${id}`, change("of the device"))
    await must("PUT", `/members/${id}`, change("of the server"))
    await synced()
    const before = markedFiles(server)
    for (const file of ["whole/", "filled/", "few/", "whole/outbox.sqlite"])
      expect(
        before.some((one) => one.startsWith(file)),
        file
      ).toBe(true)
    const tables = ["members", "journal", "idempotency_keys", ...contact_table_names]
    expect(await markedTables(server)).toEqual(expect.arrayContaining(tables))

    for (const one of [id, local.id]) {
      const { body: erased, status } = await keyed(`erased-${one}`, `/members/${one}/anonymise`, {})
      expect([status, erased.member?.name]).toEqual([200, "Anonymised Member"])
      expect(erased.member.custom_fields).toMatchObject({ diet: "Vegan", personal_0: null, personal_16: null })
    }
    await synced()
    await nothingLeft()

    // Stored responses are repeated without erased data, and have no further effect.
    expect(await job()).toMatchObject({
      ...{ status: 201, replayed: "true", body: { opportunity: { venue: { id, name: "Anonymised Member" } } } }
    })
    expect(await lighting()).toMatchObject({ status: 201, body: unrelated.body })
    expect((await show(`/members/${id}?include=emails`)).emails).toEqual([])
    // Devices equal the server, and new ones receive no trace.
    const there = await server.tables()
    for (const device of [whole, filled]) {
      expect((await device.show(`/members/${id}`)).custom_fields).toMatchObject({ diet: "Vegan", personal_0: null })
      expect((await device.tables())["members"]).toEqual(there["members"])
    }
    await enrol("late", from_events)
    await nothingLeft()
  })

  it("a user requires a deactivated account, and removes every personal value, on others' devices too", async () => {
    const email = `${mark}@quill.example`
    const { id, member_id } = await create("/users", { name: `${mark} Quill`, email, roles: ["Admin"], active: true })
    const job = () => keyed("job", "/opportunities?include=owner", { subject: "Spring tour", owned_by: member_id })
    expect((await job()).body.opportunity.owner?.name).toBe(`${mark} Quill`)
    const { secret } = await create("/tokens", { name: `${mark}'s own`, abilities: ["*"], user_id: id })
    await must("PUT", `/users/${id}`, { name: `${mark} Q.`, email: `${mark}.q@quill.example` })
    await must("PUT", `/members/${member_id}`, { description: `${mark} plays` })
    for (const { path, table } of recordsOfMember()) await create(`/members/${member_id}${path}`, markedBody(table))
    const product = `/products/${await server.product()}`

    let open = true
    const before_push = () => {
      if (!open) throw new RemoteError(500, { message: "The server is out of order." })
    }
    const colleague = await enrol("colleague", { ...from_events, before_push })
    const few = await enrol("few", from_events, await counter("products.view", "products.access"))
    const own = await enrol("laptop", {}, secret)
    await must("PUT", `/sync/replicas/${own.id}`, { name: `${mark}'s laptop` }, secret)
    await own.must("PUT", product, { description: "By themselves" })
    await own.sync()
    // Conflicts with one of their changes name them.
    open = false
    await colleague.must("PUT", product, { description: "By a colleague" })
    open = true
    for (const device of [colleague, few]) await device.sync()
    const merged = [{ actor: { id, name: `${mark} Q.` } }]
    expect(colleague.outbox.told(true)).toMatchObject([{ account: { merged } }])
    await own.close()

    const refused = (words: RegExp) => ({
      ...{ status: 422, body: { errors: { member: [expect.stringMatching(words)] } } }
    })
    expect(await server.post(`/members/${member_id}/anonymise`, {})).toMatchObject(refused(/deactivate/i))
    expect(await show(`/users/${id}`)).toMatchObject({ name: `${mark} Q.`, is_active: true })
    expect(await server.post("/members/1/anonymise", {}, secret)).toMatchObject(refused(/owner/))
    await must("DELETE", `/users/${id}`)
    await must("POST", `/members/${member_id}/anonymise`, {})
    for (const device of [colleague, few]) await device.sync()

    const anonymous = { name: "Anonymised Member", email: `anonymised-${id}@example.invalid`, is_active: false }
    expect(await show(`/users/${id}`)).toMatchObject(anonymous)
    const actions = await show(`/actions?q[user_id_eq]=${id}`)
    expect(actions.map((one) => one.user_name)).toContain("Anonymised Member")
    // Their own device, whose account is gone, clears itself at its next request.
    await nothingLeft("laptop/")
    expect(await job()).toMatchObject({
      ...{
        status: 201,
        replayed: "true",
        body: { opportunity: { owner: { id: member_id, name: "Anonymised Member" } } }
      }
    })
    const errors = { user: [expect.stringMatching(/anonymised/i)] }
    expect(await server.post(`/users/${id}/activate`, {})).toMatchObject({ status: 422, body: { errors } })
  })
})
