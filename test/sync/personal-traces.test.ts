/**
 * Whatever a person's data was written into, anonymising them takes it out: of rows, journal, stored answers, what devices
 * keep, and of the bytes of the files. Fields are walked as they are declared, so that a new one that is forgotten fails here.
 */
import { describe, expect, it } from "vitest"
import { field_types } from "../../core/kernel/custom-field.ts"
import { members } from "../../core/members/schema.ts"
import { engines } from "../app.ts"
import { RemoteError } from "../../sync/device/remote.ts"
import type { Filled, Hooks } from "./filling.ts"
import { businessOfEachTest } from "./business.ts"
import {
  contact_table_names,
  exported,
  isMarkedText,
  mark,
  markedBody,
  markedFiles,
  markedTables,
  number_mark,
  personal_tables,
  recordsOfMember
} from "./traces.ts"

/** What custom fields of each kind may hold of a person; kinds that choose from a list or hold yes or no hold nothing of them. */
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

describe.each(engines)("nothing is left of a person who was anonymised, on %s", (engine) => {
  const of = businessOfEachTest(engine)
  const { business, devices, make } = of
  const keyed = async (key: string, path: string, body: object) => {
    const response = await fetch(`${business.url}/api/v1/${path}`, {
      method: "POST",
      headers: {
        authorization: "Bearer owner-token-of-the-tests",
        "content-type": "application/json",
        "idempotency-key": key
      },
      body: JSON.stringify(body)
    })
    return {
      status: response.status,
      replayed: response.headers.get("idempotent-replayed"),
      body: (await response.json()) as any
    }
  }
  const enrol = (name: string, hooks: Hooks = {}, token?: string): Promise<Filled> => of.filled(hooks, token, name)
  const counterToken = async (permissions: ReadonlyArray<string>): Promise<string> =>
    (await of.person(permissions)).token
  const nothingLeft = async () => {
    expect(await markedTables(business)).toEqual([])
    expect(markedFiles(business.folder)).toEqual([])
    expect(isMarkedText(await exported(business))).toBe(false)
  }

  it("of a contact: every field of theirs, doubles, custom fields marked as personal, stored answers, devices", async () => {
    const names: { [type: string]: string } = {}
    for (const type of Object.keys(field_types)) {
      if (custom_values[Number(type)] === undefined) continue
      names[type] = `personal_${type}`
      await make("custom_fields", {
        name: names[type],
        module_type: "Member",
        field_type: Number(type),
        is_personal: true
      })
    }
    await make("custom_fields", { name: "diet", module_type: "Member", field_type: 0 })
    const gone = await make("custom_fields", { name: "gone", module_type: "Member", field_type: 0, is_personal: true })
    const custom_fields = {
      ...Object.fromEntries(Object.entries(names).map(([type, name]) => [name, custom_values[Number(type)]])),
      diet: "Vegan"
    }

    const whole = await enrol("whole", { snapshot_beyond: Number.POSITIVE_INFINITY })
    const filled = await enrol("filled")
    const few = await enrol(
      "few",
      { snapshot_beyond: Number.POSITIVE_INFINITY },
      await counterToken(["activities.access", "activities.view", "products.view", "products.access"])
    )

    // Over HTTP, under a key, with all that a body may hold.
    const body = { ...markedBody(members), membership_type: "contact", custom_fields: { ...custom_fields, gone: mark } }
    const made = await keyed("made", "members", body)
    expect([made.status, made.body.member?.name], JSON.stringify(made.body)).toEqual([201, `${mark} name`])
    const { id } = made.body.member
    for (const { table, path } of recordsOfMember()) {
      const record = await keyed(`made-${table.name}`, `members/${id}${path}`, markedBody(table))
      expect(record.status, JSON.stringify(record.body)).toBe(201)
    }
    // Answers kept under their keys that show the person, and one that does not.
    const job = { subject: "Spring tour", venue_id: id }
    expect((await keyed("job", "opportunities?include=venue", job)).body.opportunity.venue.name).toBe(`${mark} name`)
    const unrelated = await keyed("unrelated", "opportunities", { subject: "Lighting" })
    expect(
      (
        await business.ask("PUT", `members/${id}`, {
          name: `${mark} Quill`,
          tag_list: [`${mark} again`],
          custom_fields: { personal_0: `${mark} anew` }
        })
      ).status
    ).toBe(200)
    const double = await make("members", { ...markedBody(members), membership_type: "contact", custom_fields })
    expect((await business.ask("POST", `members/${id}/merge`, { secondary_id: double.id })).status).toBe(200)
    await business.ask("DELETE", `custom_fields/${gone.id}`)
    for (const device of [whole, filled, few]) await device.sync()

    // On a device: of their own making, settled; and a change that somebody else's crosses.
    const local = await whole.ask("POST", "members", {
      ...markedBody(members),
      membership_type: "contact",
      custom_fields
    })
    expect(local.status, JSON.stringify(local.body)).toBe(201)
    for (const [at, name] of contact_table_names.entries()) {
      const table = personal_tables.find((one) => one.name === name)!
      expect(
        (await whole.ask("POST", `members/${local.body.member.id}/${name}`, markedBody(table))).status,
        `${name} ${at}`
      ).toBe(201)
    }
    expect(
      (
        await whole.ask("PUT", `members/${id}`, {
          name: `${mark} of the device`,
          custom_fields: { personal_0: `${mark} there` }
        })
      ).status
    ).toBe(200)
    expect(
      (
        await business.ask("PUT", `members/${id}`, {
          name: `${mark} of the server`,
          custom_fields: { personal_0: `${mark} here` }
        })
      ).status
    ).toBe(200)
    for (const device of [whole, filled, few]) await device.sync()
    const before = markedFiles(business.folder)
    for (const device of ["whole", "filled", "few"])
      expect(
        before.some((file) => file.startsWith(`${device}/`)),
        device
      ).toBe(true)
    expect(before.some((file) => file === "whole/outbox.sqlite" || file === "whole/outbox.sqlite-wal")).toBe(true)
    expect(await markedTables(business)).toEqual(
      expect.arrayContaining(["members", "journal", "idempotency_keys", ...contact_table_names])
    )

    for (const one of [id, local.body.member.id]) {
      const erased = await keyed(`erased-${one}`, `members/${one}/anonymise`, {})
      expect([erased.status, erased.body.member?.name]).toEqual([200, "Anonymised Member"])
      expect(erased.body.member.custom_fields).toMatchObject({ diet: "Vegan", personal_0: null, personal_16: null })
    }
    for (const device of [whole, filled, few]) await device.sync()
    await nothingLeft()

    // What was answered is answered again with what is left of it, and happens no second time.
    const again = await keyed("job", "opportunities?include=venue", job)
    expect([again.status, again.replayed, again.body.opportunity.venue]).toEqual([
      201,
      "true",
      { id, name: "Anonymised Member" }
    ])
    const other = await keyed("unrelated", "opportunities", { subject: "Lighting" })
    expect([other.status, other.body]).toEqual([201, unrelated.body])
    expect((await business.ask("GET", `members/${id}?include=emails`)).body.member.emails).toEqual([])
    // Devices hold what the server holds, and whoever enrols from now on sees none of it.
    for (const device of [whole, filled]) {
      expect((await device.ask("GET", `members/${id}`)).body.member.custom_fields).toMatchObject({
        diet: "Vegan",
        personal_0: null
      })
      expect((await device.tables())["members"]).toEqual((await business.tables())["members"])
    }
    await enrol("late", { snapshot_beyond: Number.POSITIVE_INFINITY })
    await nothingLeft()
  })

  it("of a user: account, devices, tokens, what the action log and others' devices say of them; an active account is refused first", async () => {
    const { id, member_id } = await make("users", {
      name: `${mark} Quill`,
      email: `${mark}@quill.example`,
      roles: ["Admin"],
      active: true
    })
    const job = { subject: "Spring tour", owned_by: member_id }
    expect((await keyed("job", "opportunities?include=owner", job)).body.opportunity.owner.name).toBe(`${mark} Quill`)
    const token = (await make("tokens", { name: `${mark}'s own`, abilities: ["*"], user_id: id })).secret as string
    await business.ask("PUT", `users/${id}`, { name: `${mark} Q.`, email: `${mark}.q@quill.example` })
    await business.ask("PUT", `members/${member_id}`, { description: `${mark} plays` })
    for (const { table, path } of recordsOfMember()) await make(`members/${member_id}${path}`, markedBody(table))
    const product = await make("products", { name: "Lamp" })

    let open = true
    const before_push = () => {
      if (!open) throw new RemoteError(500, { message: "The server is out of order." })
    }
    const colleague = await enrol("colleague", { snapshot_beyond: Number.POSITIVE_INFINITY, before_push })
    const few = await enrol(
      "few",
      { snapshot_beyond: Number.POSITIVE_INFINITY },
      await counterToken(["products.view", "products.access"])
    )
    const own = await enrol("laptop", {}, token)
    expect((await business.ask("PUT", `sync/replicas/${own.id}`, { name: `${mark}'s laptop` }, token)).status).toBe(200)
    expect((await own.ask("PUT", `products/${product.id}`, { description: "By themselves" })).status).toBe(200)
    await own.sync()
    // What crosses a change of theirs is told with their name.
    open = false
    expect((await colleague.ask("PUT", `products/${product.id}`, { description: "By a colleague" })).status).toBe(200)
    open = true
    for (const device of [colleague, few]) await device.sync()
    expect(colleague.outbox.told(true)).toMatchObject([
      { account: { merged: [{ actor: { id, name: `${mark} Q.` } }] } }
    ])
    await own.close()
    devices.splice(devices.indexOf(own), 1)

    const refused = await business.ask("POST", `members/${member_id}/anonymise`, {})
    expect([refused.status, Object.keys(refused.body.errors)]).toEqual([422, ["member"]])
    expect(refused.body.errors.member[0]).toMatch(/deactivate/i)
    expect((await business.ask("GET", `users/${id}`)).body.user).toMatchObject({ name: `${mark} Q.`, is_active: true })
    const ofOwner = await business.ask("POST", "members/1/anonymise", {}, token)
    expect([ofOwner.status, ofOwner.body.errors]).toEqual([422, { member: [expect.stringContaining("owner")] }])
    expect((await business.ask("DELETE", `users/${id}`)).status).toBe(204)
    expect((await business.ask("POST", `members/${member_id}/anonymise`, {})).status).toBe(200)
    for (const device of [colleague, few]) await device.sync()

    const user = (await business.ask("GET", `users/${id}`)).body.user
    expect(user).toMatchObject({
      name: "Anonymised Member",
      email: `anonymised-${id}@example.invalid`,
      is_active: false
    })
    const { actions } = (await business.ask("GET", `actions?q[user_id_eq]=${id}`)).body
    expect(actions.map((one: { readonly user_name: string }) => one.user_name)).toContain("Anonymised Member")
    expect(await markedTables(business)).toEqual([])
    // Their own device, whose account is gone, hears nothing any more: it clears itself when it next asks.
    expect(markedFiles(business.folder).filter((file) => !file.startsWith("laptop/"))).toEqual([])
    expect(isMarkedText(await exported(business))).toBe(false)
    const again = await keyed("job", "opportunities?include=owner", job)
    expect([again.status, again.replayed, again.body.opportunity.owner]).toEqual([
      201,
      "true",
      { id: member_id, name: "Anonymised Member" }
    ])
    expect(await business.ask("POST", `users/${id}/activate`, {})).toMatchObject({
      status: 422,
      body: { errors: { user: [expect.stringMatching(/anonymised/i)] } }
    })
  })
})
