import fc from "fast-check"
import { beforeAll, describe, expect, it } from "vitest"
import { engines, viewerWith } from "../../app.ts"
import { appHouse, itFoldsAgain } from "../../app-house.ts"
import { importing, itTakesBatches } from "./importing.ts"

const includes = "include=addresses,emails,phones,links,contacts,organisations"

describe.each(engines)("importing members on %s", (engine) => {
  const w = appHouse(engine)
  beforeAll(async () => {
    await w.post("/custom_fields", { name: "region", module_type: "Member", field_type: 0 })
  })

  const sending = importing(() => w.app, "members")
  const { head, one, send, sendBody, verdicts } = sending
  const member = async (id: number | null) => await w.show(`/members/${id}?${includes}`)
  const total = async (query: string) => (await w.get(`/members?${query}`)).body.meta.total

  const acme = {
    Type: "Customer",
    Name: "Acme Events",
    "Customer number": "C-100",
    "External ID": "crm-7",
    Notes: "Pays late",
    Tags: "festival; vip",
    "Credit limit": "5000.00",
    "On stop": "yes",
    invoice_term: "net 30",
    Street: "1 High Street",
    City: "Leeds",
    Postcode: "LS1 1AA",
    Country: "gb",
    email: "info@acme.example; accounts@acme.example",
    phone: [{ number: "+44 113 000 0000", type: "work" }],
    website: "https://acme.example",
    "cf.region": "North",
    contact: [{ name: "Ann Lee", title: "Buyer", email: "ann@acme.example", relationship_type: "Employee" }]
  }

  it("rejects headings and values named like properties of every object", async () => {
    const rows = ["phone.constructor", "email.constructor", "link.__proto__"].map((heading) =>
      JSON.parse(`{"name":"Odd ${heading}","${heading}":"1"}`)
    )
    const odd_words = { name: "Odd", membership_type: "constructor", location_type: "valueOf" }
    const results = await verdicts([...rows, odd_words, { name: "Sound" }], { dry_run: true })
    expect(results.map(({ errors, status }) => [status, Object.keys(errors ?? {})])).toEqual([
      ["rejected", ["phone", "phone.constructor"]],
      ["rejected", ["email", "email.constructor"]],
      ["rejected", ["link", "link.__proto__"]],
      ["rejected", ["membership_type", "location_type"]],
      ["created", []]
    ])
  })
  it("creates a member with addresses, e-mails, phones, links, custom fields and contacts", async () => {
    const { status, body } = await send([acme])
    expect(status).toBe(200)
    expect(body.results).toEqual([{ row: 1, status: "created", id: expect.any(Number), key: "crm-7" }])
    const made = await member(body.results[0]?.id ?? null)
    expect(made).toMatchObject({
      name: "Acme Events",
      membership_type: "organisation",
      account_number: "C-100",
      mapping_id: "crm-7",
      description: "Pays late",
      tag_list: ["festival", "vip"],
      credit_limit: "5000.00",
      is_on_stop: true,
      custom_fields: { region: "North" },
      addresses: [{ street: "1 High Street", city: "Leeds", postcode: "LS1 1AA", is_primary: true }],
      emails: [
        { address: "info@acme.example", is_primary: true },
        { address: "accounts@acme.example", is_primary: false }
      ],
      phones: [{ number: "+44 113 000 0000", is_primary: true }],
      links: [{ url: "https://acme.example" }]
    })
    expect(made.invoice_term_name).toMatch(/net 30/i)
    expect(made.addresses[0].country_id).not.toBeNull()
    expect(made.phones[0].type_id).not.toBeNull()
    expect(made.child_members).toMatchObject([{ relatable_name: "Acme Events", related_name: "Ann Lee" }])
    const ann = await member(made.child_members[0].related_id)
    expect(ann).toMatchObject({ membership_type: "contact", title: "Buyer", emails: [{ address: "ann@acme.example" }] })
  })

  it("changes nothing and records no event on a second import", async () => {
    const before = await head()
    expect((await send([acme])).body.meta).toMatchObject({ created: 0, updated: 0, unchanged: 1, rejected: 0 })
    expect(await head()).toBe(before)
  })

  it("updates differing values, keeps omitted ones, and makes the imported e-mail address primary", async () => {
    const { id, status } = await one({
      account_number: "C-100",
      name: "Acme Events Ltd",
      city: "York",
      street: "1 High  Street",
      email: "new@acme.example",
      phone: "+44 (113) 000-0000",
      contact: { name: "ann lee", phone: "0123" }
    })
    expect(status).toBe("updated")
    const now = await member(id)
    expect(now).toMatchObject({
      name: "Acme Events Ltd",
      description: "Pays late",
      credit_limit: "5000.00",
      addresses: [{ city: "York", postcode: "LS1 1AA" }],
      phones: [{ number: "+44 113 000 0000" }]
    })
    expect(now.emails.map((email) => [email.address, email.is_primary])).toEqual([
      ["info@acme.example", false],
      ["accounts@acme.example", false],
      ["new@acme.example", true]
    ])
    expect(now.child_members).toHaveLength(1)
    expect((await member(now.child_members[0].related_id)).phones).toMatchObject([{ number: "0123" }])
  })

  it("ignores empty cells", async () => {
    const row = { account_number: "C-100", name: "", street: " ", email: null, contact: "", tag_list: "" }
    expect((await one(row)).status).toBe("unchanged")
  })

  it("links a person once to the organisation named by number, external id or name", async () => {
    const rows = [
      { name: "Bo", organisation: "C-100", relationship_type: "Owner" },
      { name: "Cy", company: "crm-7", type: "person" },
      { name: "Di", organisation: "acme events ltd" }
    ]
    expect((await send(rows)).body.meta).toMatchObject({ created: 3, rejected: 0 })
    expect((await send(rows)).body.meta).toMatchObject({ unchanged: 3 })
    const { id } = await one({ account_number: "C-100" })
    const names = (await member(id)).child_members.map((one) => one.related_name)
    expect(names.sort()).toEqual(["Ann Lee", "Bo", "Cy", "Di"])
    expect((await one({ ...rows[0], relationship_type: "Employee" })).status).toBe("updated")
  })

  it("uses rows above in the same batch, also in a dry run", async () => {
    const rows = [
      { name: "Barn", type: "venue", number: "V-1" },
      { name: "Eve", organisation: "V-1" }
    ]
    const dry = (await send(rows, { dry_run: true })).body
    expect(dry.meta).toEqual({ created: 2, updated: 0, unchanged: 0, rejected: 0, dry_run: true })
    expect(await total("q[name_eq]=Barn")).toBe(0)
    expect((await one({ name: "Eve", organisation: "V-1" }, { dry_run: true })).errors?.["organisation"]).toEqual([
      "There is no organisation V-1: put its row before this one."
    ])
    const promised = { dry_run: true, promised_numbers: ["V-1"] }
    expect((await one({ name: "Eve", organisation: "V-1" }, promised)).status).toBe("created")
    expect((await send(rows)).body.meta).toMatchObject({ created: 2 })
  })

  it.each([
    [{ name: "", email: "a@b.example" }, "name"],
    [{ name: "X", type: "spaceship" }, "membership_type"],
    [{ name: "X", type: "user" }, "membership_type"],
    [{ name: "X", credit_limit: "lots" }, "credit_limit"],
    [{ name: "X", is_on_stop: "perhaps" }, "is_on_stop"],
    [{ name: "X", currency: "XYZW" }, "default_currency_code"],
    [{ name: "X", email: "nobody" }, "email"],
    [{ name: "X", email: [{ address: "a@b.example", type: "Pigeon" }] }, "email.type"],
    [{ name: "X", email: ["a@b.example", "nobody"] }, "email2"],
    [{ name: "X", website: "not a link" }, "link"],
    [{ name: "X", street: "1 Road", country: "Atlantis" }, "address.country"],
    [{ name: "X", address: [{ street: "1 Road", planet: "Mars" }] }, "address.planet"],
    [{ name: "X", phone: true }, "phone"],
    [{ name: "X", organisation: "Nobody Ltd" }, "organisation"],
    [{ name: "X", type: "organisation", organisation: "C-100" }, "organisation"],
    [{ name: "X", organisation: "C-100", relationship_type: "x".repeat(300) }, "relationship_type"],
    [{ name: "X", contact: [{ title: "Nameless" }] }, "contact.name"],
    [{ name: "X", contact: ["A", { name: "B", email: "nobody" }] }, "contact2.email"],
    [{ name: "X", contact: [{ name: "A", shoe_size: 9 }] }, "contact.shoe_size"],
    [{ name: "X", invoice_term: "whenever" }, "invoice_term"],
    [{ name: "X", sale_tax_class: "none such" }, "sale_tax_class"],
    [{ name: "X", "cf.nothing": 1 }, "custom_fields.nothing"],
    [{ account_number: "C-100", type: "venue" }, "membership_type"]
  ])("rejects %j at its field and records nothing", async (row, field) => {
    const before = await head()
    const verdict = await one(row)
    expect(verdict.status).toBe("rejected")
    expect(Object.keys(verdict.errors ?? {})).toContain(field)
    expect(await head()).toBe(before)
  })

  it("skips an address without a street with a warning, and keeps existing addresses", async () => {
    const made = await one({
      account_number: "C-900",
      name: "Only a country",
      country: "Atlantis",
      city: "Leeds",
      contact: { name: "Kay", country: "GB" }
    })
    expect(made).toMatchObject({
      status: "created",
      warnings: [
        "An address needs a street; passed over without one: city, country.",
        "An address needs a street; passed over without one: country."
      ]
    })
    expect((await member(made.id)).addresses).toEqual([])
    expect((await one({ account_number: "C-900", street: "1 Road", country: "GB" })).status).toBe("updated")
    expect((await one({ account_number: "C-900", country: "GB" })).status).toBe("unchanged")
    expect((await member(made.id)).addresses).toMatchObject([{ street: "1 Road", is_primary: true }])
  })

  it("strips mailto: and tel: from e-mails and phone numbers", async () => {
    const row = {
      account_number: "C-901",
      name: "Linked",
      email: "mailto:a@b.example; MAILTO:c@d.example",
      phone: "tel:0123"
    }
    const { id } = await one(row)
    expect(await member(id)).toMatchObject({
      emails: [{ address: "a@b.example" }, { address: "c@d.example" }],
      phones: [{ number: "0123" }]
    })
    expect((await one(row)).status).toBe("unchanged")
    const refused = await w.post(`/members/${id}/emails`, { address: "mailto:e@f.example" })
    expect(refused.body.errors).toEqual({ address: ["The address field must be a valid e-mail address."] })
  })

  it("does not create a merged member or a user again, and names the reason", async () => {
    const [gone, kept] = await verdicts([
      { name: "Old name", number: "M-1" },
      { name: "Real name", number: "M-2" }
    ])
    await w.post(`/members/${kept?.id}/merge`, { secondary_id: gone?.id })
    expect((await one({ name: "Old name", number: "M-1" })).errors).toEqual({
      account_number: [
        "Old name, which has the number M-1, was merged into Real name: restore it, or leave the row out."
      ]
    })
    const { user } = (await w.post("/users", { name: "U", email: `u-${engine}@example.com` })).body
    expect(Object.keys((await one({ name: user.name, type: "user" })).errors ?? {})).toContain("row")
    expect(await total("q[name_eq]=Old name")).toBe(0)
  })

  it("rejects an ambiguous number or name with advice", async () => {
    for (const name of ["Twin", "Twin"])
      await w.post("/members", { name, membership_type: "venue", account_number: "T" })
    expect((await one({ number: "T", name: "Twin" })).errors).toEqual({
      account_number: ["2 members have the number T: give each its own, or merge them."]
    })
    expect(Object.keys((await one({ name: "Twin" })).errors ?? {})).toEqual(["name"])
    expect(Object.keys((await one({ name: "Fay", organisation: "Twin" })).errors ?? {})).toEqual(["organisation"])
  })

  it("distinguishes a repeated row from two members with the same name", async () => {
    const found = await verdicts([
      { name: "Same", number: "S-1" },
      { name: "Same", number: "S-2" },
      { name: "Same again", number: "S-1" },
      { name: "Same", type: "contact" }
    ])
    expect(found.map(({ status }) => status)).toEqual(["created", "created", "rejected", "created"])
    expect(found[1]?.warnings).toEqual(["Another member is called Same too."])
    expect(found[2]).toMatchObject({ errors: { row: ["Row 1 is already about S-1."] }, same_as_row: 1 })
  })

  it("accepts a row about the same as a rejected one", async () => {
    const found = await verdicts([
      { name: "Mended", number: "S-9", email: "no address" },
      { name: "Mended", number: "S-9" },
      { name: "Mended", number: "S-9" }
    ])
    expect(found.map(({ status }) => status)).toEqual(["rejected", "created", "rejected"])
    expect(found[2]?.errors).toEqual({ row: ["Row 2 is already about S-9."] })
  })

  it("requires members.create, and members.edit for contact records and existing members", async () => {
    const ask = async (row: object, permissions: ReadonlyArray<string>, ability = "members:write") =>
      sendBody({ rows: [row], dry_run: true }, viewerWith(permissions, [ability]))
    const row = { name: "P", number: "PERM", email: "p@p.example", contact: "Q" }
    expect((await ask(row, ["members.edit"])).status).toBe(403)
    expect((await ask(row, ["members.create"], "members:read")).status).toBe(403)
    expect(Object.keys((await ask(row, ["members.create"])).body.results[0].errors)).toEqual(["email", "contact"])
    expect((await ask({ name: "P" }, ["members.create"])).body.results[0].status).toBe("created")
    expect(
      Object.keys((await ask({ number: "C-100", notes: "x" }, ["members.create"])).body.results[0].errors)
    ).toEqual(["row"])
    expect((await ask(row, ["members.create", "members.edit"])).body.results[0].status).toBe("created")
  })

  it("changes nothing when any rows are imported again in reverse order", async () => {
    const word = fc.stringMatching(/^[A-Za-z][A-Za-z -]{0,8}[a-z]$/)
    const some = <A>(arbitrary: fc.Arbitrary<A>) => fc.option(arbitrary, { nil: undefined })
    const row = fc.record({
      name: word,
      type: fc.constantFrom("organisation", "venue", "contact"),
      notes: some(word),
      tags: some(fc.array(word, { maxLength: 3 })),
      credit_limit: some(fc.integer({ min: 0, max: 99_999 }).map((cents) => (cents / 100).toFixed(2))),
      on_stop: some(fc.constantFrom("yes", "no")),
      street: word,
      city: some(word),
      email: some(fc.array(fc.stringMatching(/^[a-z]{1,5}@[a-z]{1,5}\.example$/), { maxLength: 3 })),
      phone: some(fc.array(fc.stringMatching(/^[0-9]{3,9}$/), { maxLength: 3 })),
      contact: some(
        fc.uniqueArray(
          word.map((name) => ({ name })),
          { maxLength: 3, selector: ({ name }) => name.toLowerCase() }
        )
      )
    })
    let batch = 0
    await fc.assert(
      fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 8 }), async (rows) => {
        const run = ++batch
        const usable = rows.map(({ contact, ...cells }, at) => ({
          ...cells,
          number: `R-${run}-${at}`,
          ...(cells.type === "contact" || contact === undefined ? {} : { contact })
        }))
        const { meta, results } = (await send(usable)).body
        expect(meta).toMatchObject({ created: usable.length, rejected: 0 })
        const shown = async () =>
          Promise.all(
            results.map(async ({ id }) => {
              const { updated_at: _at, ...now } = await member(id)
              return now
            })
          )
        const before = await shown()
        expect((await send([...usable].reverse())).body.meta).toMatchObject({ unchanged: usable.length })
        expect(await shown()).toEqual(before)
        for (const [at, { name, notes, on_stop }] of usable.entries())
          expect(before[at]).toMatchObject({ name, description: notes ?? "", is_on_stop: on_stop === "yes" })
      }),
      { numRuns: 12 }
    )
  })

  itTakesBatches(sending, {
    rowOf: (batch, at) => ({
      name: `${batch} ${at}`,
      number: `${batch}-${at}`,
      street: `${at} Road`,
      email: `c${at}@example.com`,
      contact: [{ name: `Person ${at}`, phone: String(1_000 + at) }]
    }),
    counted: (batch) => total(`q[name_start]=${batch} `)
  })

  itFoldsAgain(w)
})
