import { Effect } from "effect"
import { beforeAll, describe, expect, it } from "vitest"
import { catalogue } from "../../../../core/catalogue.ts"
import { eventsAfter } from "../../../../core/kernel/events/journal.ts"
import { Store } from "../../../../core/kernel/store/store.ts"
import { engines, owner } from "../../../app.ts"
import { appHouse, itFoldsAgain, refused } from "../../../app-house.ts"
import { words } from "../../../words.ts"

describe.each(engines)("personal data on %s", (engine) => {
  const w = appHouse(engine)
  beforeAll(async () => {
    // The first user's id is the viewer's own.
    await post("users", { name: "First", email: "first@example.com", active: true })
  })
  const post = async (path: string, body?: object) => await w.post(`/${path}`, body)
  const journal = async () =>
    JSON.stringify(await w.app.run(Effect.flatMap(Store, (store) => eventsAfter(store, 0, 10_000))))
  const traces = words(
    "Florence Keller flo@ 0171 Rose keller.example DE999 Kapellmeister Strings EXT-77 old@ ///pretty"
  )

  it("is erased from the record, its contacts and every older event, also of merged duplicates", async () => {
    await post("custom_fields", { name: "insured", module_type: "Member", field_type: 3 })
    const person = {
      name: "Florence Keller",
      membership_type: "contact",
      description: "Florence plays",
      tag_list: ["Keller"],
      tax_number: "DE999",
      title: "Kapellmeister",
      department: "Strings",
      mapping_id: "EXT-77",
      custom_fields: { insured: true },
      day_cost: 100
    }
    const id = (await post("members", person)).body.member.id as number
    const double = await w.contact({ name: "F. Keller" })
    const bystander = await w.contact({ name: "Bystander", title: "Mr" })
    await post(`members/${id}/addresses`, {
      street: "7 Rose Lane",
      city: "Keller",
      latitude: "51.5",
      longitude: "0.1",
      what3words: "///pretty.much.here"
    })
    await post(`members/${double}/emails`, { address: "flo@keller.example", is_primary: true })
    await post(`members/${id}/phones`, { number: "0171 1" })
    await post(`members/${double}/links`, { url: "https://keller.example" })
    const gone = (await post(`members/${id}/emails`, { address: "old@keller.example" })).body.email.id as number
    await w.put(`/members/${id}/emails/${gone}`, { address: "old@keller.example.org" })
    await w.remove(`/members/${id}/emails/${gone}`)
    await post(`members/${id}/merge`, { secondary_id: double })
    await w.put(`/members/${id}`, { name: "Florence K. Keller" })
    for (const trace of traces) expect(await journal()).toContain(trace)

    const erased = await post(`members/${id}/anonymise?include=addresses,emails,phones,links`)
    expect(erased.status).toBe(200)
    expect(erased.body.member).toMatchObject({
      id,
      name: "Anonymised Member",
      description: "",
      icon: null,
      tag_list: [],
      tax_number: null,
      mapping_id: null,
      title: null,
      department: null,
      addresses: [],
      emails: [],
      phones: [],
      links: [],
      custom_fields: { insured: true },
      is_active: true,
      membership_type: "contact",
      day_cost: "1.00"
    })
    const after = await journal()
    for (const trace of traces) expect(after).not.toContain(trace)
    expect(after).toContain("Bystander")
    // The journal keeps that these events happened.
    for (const type of ["member.created", "address.created", "email.updated", "member.merged", "member.anonymised"])
      expect(after).toContain(type)
    const archived = await w.show("/members?archived=only")
    expect(archived).toMatchObject([{ id: double, name: "Anonymised Member" }])
    expect(await w.show(`/members/${bystander}`)).toMatchObject({ name: "Bystander", title: "Mr" })
    const again = await post(`members/${id}/anonymise`)
    expect([again.status, again.body.member.name]).toEqual([200, "Anonymised Member"])
  })
  it("is removed by the next erasure if it was added after the first", async () => {
    const id = await w.contact({ name: "Otto" })
    await post(`members/${id}/anonymise`)
    await post(`members/${id}/phones`, { number: "555-2368" })
    expect(await journal()).toContain("555-2368")
    await post(`members/${id}/anonymise`)
    expect(await journal()).not.toContain("555-2368")
  })
  it("moved by a merge is erased with the restored person that it was recorded for", async () => {
    const member = async (name: string) =>
      (await post("members", { name, membership_type: "contact" })).body.member.id as number
    const [kept, person] = [await member("Kept"), await member("Wrongly Merged")]
    await post(`members/${kept}/phones`, { number: "555-0001" })
    await post(`members/${person}/phones`, { number: "555-0002" })
    await post(`members/${person}/emails`, { address: "moved@person.example" })
    await post(`members/${kept}/merge`, { secondary_id: person })
    await post(`members/${person}/restore`)
    const contacts = async () => {
      const { emails, phones } = await w.show(`/members/${kept}?include=phones,emails`)
      return [...phones.map((one) => one.number), ...emails.map((one) => one.address)]
    }
    expect(await contacts()).toEqual(["555-0001", "555-0002", "moved@person.example"])
    await post(`members/${person}/anonymise`)
    expect(await contacts()).toEqual(["555-0001"])
    expect(await journal()).not.toMatch(/555-0002|moved@person/)
  })
  it("cannot be erased by the person it belongs to, nor for archived or unknown members (404)", async () => {
    const user = (await post("users", { name: "Self", email: `self-${engine}@example.com`, active: true })).body.user
    const self = { ...owner, user_id: user.id, person_id: user.member_id }
    await refused(w.post(`/members/${user.member_id}/anonymise`, undefined, self), "member")
    const archived = await w.contact({ name: "Gone" })
    await w.remove(`/members/${archived}`)
    expect((await post(`members/${archived}/anonymise`)).status).toBe(404)
    expect((await post("members/999999/anonymise")).status).toBe(404)
  })
  it("cannot be erased while the account is in use; later the user's name and e-mail address are erased, too", async () => {
    const user = (await post("users", { name: "Leaver", email: `leaver-${engine}@example.com`, active: true })).body
      .user
    const before = await journal()
    const errors = await refused(post(`members/${user.member_id}/anonymise`), "member")
    expect(errors.member[0]).toContain(`DELETE /api/v1/users/${user.id}`)
    expect(await journal()).toBe(before)
    expect((await w.show(`/users/${user.id}`)).email).toBe(`leaver-${engine}@example.com`)
    await w.remove(`/users/${user.id}`)
    expect((await post(`members/${user.member_id}/anonymise`)).status).toBe(200)
    expect((await post(`users/${user.id}/activate`)).body.errors).toEqual({
      user: ["This user was anonymised; invite the person anew."]
    })
    // The account of a user who never accepted the invitation is not in use.
    const invited = (await post("users", { name: "Leaver too", email: `leaver-${engine}@example.org` })).body.user
    expect((await post(`members/${invited.member_id}/anonymise`)).status).toBe(200)
    expect(await w.show(`/users/${user.id}`)).toMatchObject({
      name: "Anonymised Member",
      email: `anonymised-${user.id}@example.invalid`
    })
    const after = await journal()
    expect(after).not.toContain("Leaver")
    expect(after).not.toContain(`leaver-${engine}@`)
  })
  it("is erased in custom fields that are personal or deleted, and stays in others", async () => {
    const define = async (name: string, more: object) =>
      (await post("custom_fields", { name, module_type: "Member", field_type: 0, ...more })).body
    await define("next_of_kin", { is_personal: true })
    const dropped = await define("dropped", {})
    await define("shirt_size", {})
    const late = await define("late", {})
    const custom_fields = { next_of_kin: "Aunt Agatha", dropped: "Bertram", shirt_size: "XL", late: "Cyril" }
    const id = await w.contact({ name: "Otto", custom_fields })
    await w.put(`/members/${id}`, { custom_fields: { next_of_kin: "Aunt Dahlia" } })
    await w.remove(`/custom_fields/${dropped.custom_field.id}`)
    expect((await post(`members/${id}/anonymise`)).body.member.custom_fields).toMatchObject({
      next_of_kin: null,
      shirt_size: "XL",
      late: "Cyril"
    })
    for (const gone of ["Agatha", "Dahlia", "Bertram"]) expect(await journal()).not.toContain(gone)
    expect(await journal()).toMatch(/"member\.created".*XL.*Cyril|XL.*Cyril.*"member\.created"/)
    // If marked later, its values are erased when the person is anonymised again.
    await w.put(`/custom_fields/${late.custom_field.id}`, { is_personal: true })
    expect((await post(`members/${id}/anonymise`)).body.member.custom_fields).toMatchObject({
      shirt_size: "XL",
      late: null
    })
    expect(await journal()).not.toContain("Cyril")
  })
  it("is in no table whose search index may keep deleted texts", () => {
    const kept = catalogue.tables.filter(({ searched }) => searched?.never_erased === true)
    expect(kept.map(({ name }) => name).sort()).toEqual(["containers", "products", "stock_levels"])
  })
  itFoldsAgain(w)
})
