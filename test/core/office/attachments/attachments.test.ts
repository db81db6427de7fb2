/** Attachments over the API: permissions, and effects of merging, erasing and deleting their record. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { danglingReferences } from "../../../dangling-references.ts"
import { upload_bytes_max } from "../../../../core/kernel/fields/input.ts"
import { attachables } from "../../../../core/office/attachments/attachables.ts"
import { engines } from "../../../app.ts"
import { refused } from "../../../app-house.ts"
import { type Field, formOf } from "../../../server/files/sending.ts"
import { type Got, serve, type Serving } from "../../../server/serving.ts"

const photo = Buffer.from("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489", "hex")

describe.each(engines)("attachments on %s", (engine) => {
  let server: Serving
  beforeAll(async () => {
    server = await serve(engine, { public_url: "https://rent.example" })
  })
  afterAll(() => server.close())

  const make = async (path: string, json: object) => {
    const got = await server.ask(`/api/v1/${path}`, { json })
    expect(got.status, got.text).toBeLessThan(300)
    return Object.values(got.body)[0]
  }
  const get = (path: string, token?: string) => server.ask(`/api/v1/${path}`, token === undefined ? {} : { token })
  const attach = async (
    to: { readonly type?: string; readonly id?: number | string },
    {
      content = photo,
      name = "Front ü.png",
      token,
      more = []
    }: { content?: Uint8Array; name?: string; token?: string; more?: ReadonlyArray<Field> } = {}
  ): Promise<Got> => {
    const { bytes, type } = await formOf([
      ...(to.type === undefined ? [] : [["attachable_type", to.type] as const]),
      ...(to.id === undefined ? [] : [["attachable_id", String(to.id)] as const]),
      ...more,
      ["file", new Blob([content]), name]
    ])
    return server.ask("/api/v1/attachments", {
      bytes,
      headers: { "content-type": type },
      ...(token === undefined ? {} : { token })
    })
  }
  const member = async (name: string): Promise<number> =>
    (await make("members", { name, membership_type: "organisation" })).id
  const remove = (path: string) => server.ask(`/api/v1/${path}`, { method: "DELETE" })
  const names = async (path: string): Promise<ReadonlyArray<string>> => {
    const got = await get(path)
    expect(got.status, got.text).toBe(200)
    return got.body.attachments.map((one) => one.original_name)
  }

  it("keep a member's file unchanged, with its uploader and an expiring URL", async () => {
    const id = await member("One")
    const texts = { category: "photo", description: "From the front" }
    const got = await attach({ type: "Member", id }, { more: Object.entries(texts) })
    expect(got.status, got.text).toBe(201)
    expect(got.body.attachment).toMatchObject({
      original_name: "Front ü.png",
      mime_type: "image/png",
      file_size: photo.length,
      ...texts,
      thumb_url: null,
      uploaded_by: 1,
      attachable_type: "Member",
      attachable_id: id
    })
    expect(got.body.attachment).not.toHaveProperty("sha256")
    expect(got.body.attachment.uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    const url = got.body.attachment.url!
    expect(url).toMatch(/^https:\/\/rent\.example\/files\/[0-9a-f-]{36}\?expires=\d+&signature=[0-9a-f]{64}$/)
    const file = await server.ask(url.slice("https://rent.example".length), { token: null })
    expect(file.status).toBe(200)
    expect(photo.equals(file.bytes)).toBe(true)
    expect((await get(`attachments/${got.body.attachment.id}`)).body.attachment.original_name).toBe("Front ü.png")
  })

  it("are rejected for a missing file or subject and overlong texts, each at its field", async () => {
    const id = await member("Two")
    await refused(server.ask("/api/v1/attachments", { json: { attachable_type: "Member", attachable_id: id } }), "file")
    await refused(attach({}), "attachable_id", "attachable_type")
    const long = { category: "x".repeat(51), description: "x".repeat(1_001) }
    await refused(attach({ type: "Member", id }, { more: Object.entries(long) }), "category", "description")
    expect(await names(`members/${id}/attachments`)).toEqual([])
  })

  it("are rejected for a type without attachments, and accept type names in any case", async () => {
    const id = await member("Three")
    for (const type of ["Nope", "App\\Models\\Member", ""]) {
      await refused(attach({ type, id }), "attachable_type")
    }
    const product = await make("products", { name: "Unit of three", stock_method: 2 })
    const unit = await make("stock_levels", { product_id: product.id, store_id: 1, asset_number: "T-1" })
    for (const type of ["StockLevel", "stock_level", "STOCK-LEVEL", "stock level"])
      expect((await attach({ type, id: unit.id })).body.attachment.attachable_type).toBe("StockLevel")
  })

  it("are 404 for a missing or archived subject if the rest of the request is valid", async () => {
    expect((await attach({ type: "Member", id: 999_999 })).status).toBe(404)
    const id = await member("Four")
    await remove(`members/${id}`)
    expect((await attach({ type: "Member", id })).status).toBe(404)
  })

  it("are deleted with their file", async () => {
    const id = await member("Five")
    const { attachment } = (await attach({ type: "member", id })).body
    expect((await remove(`attachments/${attachment.id}`)).status).toBe(204)
    expect((await get(`attachments/${attachment.id}`)).status).toBe(404)
    expect((await remove(`attachments/${attachment.id}`)).status).toBe(404)
    expect((await server.ask(attachment.url!.slice("https://rent.example".length), { token: null })).status).toBe(404)
  })

  it("are accepted up to 20 MB", async () => {
    const id = await member("Full")
    const full = await attach({ type: "Member", id }, { content: Buffer.alloc(upload_bytes_max) })
    expect(full.body.attachment?.file_size, full.text).toBe(upload_bytes_max)
    const more = await attach({ type: "Member", id }, { content: Buffer.alloc(upload_bytes_max + 1) })
    expect([413, 422]).toContain(more.status)
    expect(await names(`members/${id}/attachments`)).toHaveLength(1)
  })

  it("are filtered by file type, category and name, sorted and paged, oldest first", async () => {
    const id = await member("Listed")
    await attach(
      { type: "Member", id },
      { name: "b.txt", content: Buffer.from("12345"), more: [["category", "Paper"]] }
    )
    await attach({ type: "Member", id }, { name: "a.png", more: [["category", "photo"]] })
    await attach({ type: "Member", id }, { name: "Contract.txt", content: Buffer.from("1") })
    const list = `members/${id}/attachments`
    expect(await names(list)).toEqual(["b.txt", "a.png", "Contract.txt"])
    expect(await names(`${list}?q[mime_type_eq]=image/png`)).toEqual(["a.png"])
    expect(await names(`${list}?q[category_eq]=Paper`)).toEqual(["b.txt"])
    expect(await names(`${list}?q[original_name_cont]=TRACT`)).toEqual(["Contract.txt"])
    expect(await names(`${list}?sort=original_name`)).toEqual(["a.png", "b.txt", "Contract.txt"])
    expect(await names(`${list}?sort=-file_size`)).toEqual(["a.png", "b.txt", "Contract.txt"])
    expect(await names(`${list}?sort=-created_at`)).toHaveLength(3)
    expect((await get(`${list}?per_page=2&page=2`)).body).toMatchObject({
      attachments: [{ original_name: "Contract.txt" }],
      meta: { total: 3, per_page: 2, page: 2 }
    })
    expect((await get("members/999999/attachments")).status).toBe(404)
  })

  it("are possible for every kind of subject, each with a list of its own and an entry in the action log", async () => {
    const product = await make("products", { name: "Head", stock_method: 2 })
    const period = { starts_at: "2026-07-01T09:00:00Z", ends_at: "2026-07-03T09:00:00Z" }
    const ids: { readonly [type: string]: number } = {
      Member: await member("Every"),
      Product: product.id,
      Opportunity: (await make("opportunities", { subject: "Tour", store_id: 1, ...period })).id,
      Activity: (await make("activities", { subject: "Call" })).id,
      Container: (await make("containers", { name: "Case", scan_mode: "free", store_id: 1 })).id,
      StockLevel: (await make("stock_levels", { product_id: product.id, store_id: 1, asset_number: "E-1" })).id,
      Invoice: (await make("invoices", { member_id: await member("Billed") })).id,
      PurchaseOrder: (await make("purchase_orders", { supplier_id: await member("Supplier") })).id
    }
    expect(Object.keys(ids)).toEqual(attachables.map(({ type }) => type))
    for (const { table, type } of attachables) {
      const made = await attach({ type, id: ids[type]! }, { name: `${type}.png` })
      expect(made.status, made.text).toBe(201)
      expect(await names(`${table.name}/${ids[type]}/attachments`)).toEqual([`${type}.png`])
      const log = await get(
        `actions?q[auditable_type_eq]=${table.entity}&q[auditable_id_eq]=${ids[type]}&q[action_eq]=attachment.created`
      )
      expect(log.body.actions).toMatchObject([{ new_values: { original_name: `${type}.png` } }])
    }
    const { activity } = (await get(`opportunities/${ids["Opportunity"]}/activity`)).body
    expect(activity[0]).toMatchObject({ action: "attachment.created", new_values: { attachment: "Opportunity.png" } })
    // Permanent deletion removes the files; archived rows have them again when restored.
    await remove(`activities/${ids["Activity"]}`)
    await remove(`members/${ids["Member"]}`)
    expect(await names("attachments?q[attachable_type_eq]=Activity")).toEqual([])
    await server.ask(`/api/v1/members/${ids["Member"]}/restore`, { method: "POST" })
    expect(await names(`members/${ids["Member"]}/attachments`)).toEqual(["Member.png"])
    const { catalogue } = server.app
    expect(await server.run(danglingReferences(catalogue.references, catalogue.table))).toEqual([])
  })

  it("move to the kept record when members or products are merged", async () => {
    const [one, other] = [await member("Kept"), await member("Double")]
    await attach({ type: "Member", id: other }, { name: "moved.png" })
    await server.ask(`/api/v1/members/${one}/merge`, { json: { secondary_id: other } })
    expect(await names(`members/${one}/attachments`)).toEqual(["moved.png"])
    const [first, second] = [await make("products", { name: "P1" }), await make("products", { name: "P2" })]
    await attach({ type: "Product", id: second.id }, { name: "manual.png" })
    const merged = await server.ask(`/api/v1/products/${first.id}/merge`, { json: { secondary_id: second.id } })
    expect(merged.status, merged.text).toBe(200)
    expect(await names(`products/${first.id}/attachments`)).toEqual(["manual.png"])
  })

  it("are erased with their person, merged members included, and from the action log", async () => {
    const [one, other] = [await member("Erased"), await member("Erased too")]
    const { attachment } = (await attach({ type: "Member", id: one }, { name: "Zork.png" })).body
    await attach({ type: "Member", id: other }, { name: "Zork junior.png" })
    await server.ask(`/api/v1/members/${one}/merge`, { json: { secondary_id: other } })
    expect((await server.ask(`/api/v1/members/${one}/anonymise`, { method: "POST" })).status).toBe(200)
    expect(await names(`members/${one}/attachments`)).toEqual([])
    expect((await get(`attachments/${attachment.id}`)).status).toBe(404)
    const log = await get(`actions?q[auditable_type_eq]=member&q[auditable_id_in]=${one},${other}&per_page=100`)
    expect(log.text).not.toContain("Zork")
    expect(log.text).not.toContain(attachment.uuid)
  })

  it("are erased with the person they were recorded for, even after a merge", async () => {
    const [kept, person] = [await member("Kept"), await member("Wrongly Merged")]
    await attach({ type: "Member", id: kept }, { name: "own.png" })
    await attach({ type: "Member", id: person }, { name: "Quilp.png" })
    await server.ask(`/api/v1/members/${kept}/merge`, { json: { secondary_id: person } })
    await server.ask(`/api/v1/members/${person}/restore`, { method: "POST" })
    expect(await names(`members/${kept}/attachments`)).toEqual(expect.arrayContaining(["own.png", "Quilp.png"]))
    expect((await server.ask(`/api/v1/members/${person}/anonymise`, { method: "POST" })).status).toBe(200)
    expect(await names(`members/${kept}/attachments`)).toEqual(["own.png"])
  })

  it("are limited to users who may read or edit their subject", async () => {
    const id = await member("Guarded")
    const product = await make("products", { name: "Guarded" })
    const { attachment } = (await attach({ type: "Member", id }, { name: "secret.png" })).body
    await attach({ type: "Product", id: product.id }, { name: "open.png" })
    const tokenWith = async (permissions: ReadonlyArray<string>, abilities: ReadonlyArray<string>): Promise<string> => {
      const unique = `${permissions.join("+")} ${abilities.join("+")}`
      const role = await make("roles", { name: unique, permissions })
      const email = `${unique.replaceAll(/[^a-z]+/g, ".")}@example.com`
      const user = await make("users", { name: unique, email, roles: [role.name], active: true })
      return (await make("tokens", { name: "t", abilities, user_id: user.id })).secret
    }
    const seller = await tokenWith(["products.view", "products.edit"], ["*"])
    expect((await get(`attachments/${attachment.id}`, seller)).status).toBe(403)
    expect((await get(`members/${id}/attachments`, seller)).status).toBe(403)
    const seen = (await get("attachments?per_page=100", seller)).body.attachments
    expect(new Set(seen.map((one) => one.attachable_type))).toEqual(new Set(["Product"]))
    expect((await attach({ type: "Member", id }, { token: seller })).status).toBe(403)
    expect((await attach({ type: "Product", id: product.id }, { token: seller })).status).toBe(201)
    const gone = await server.ask(`/api/v1/attachments/${attachment.id}`, { method: "DELETE", token: seller })
    expect(gone.status).toBe(403)
    const reader = await tokenWith(["members.view", "members.edit"], ["members:read", "products:write"])
    expect((await get(`attachments/${attachment.id}`, reader)).status).toBe(200)
    expect((await attach({ type: "Member", id }, { token: reader })).status).toBe(403)
    const nobody = await tokenWith(["settings.view"], ["*"])
    expect((await get("attachments", nobody)).status).toBe(403)
  })

  it("keep only the base name of a file", async () => {
    const id = await member("Tricks")
    for (const [sent, kept] of [
      ["../../etc/passwd", "passwd"],
      ["C:\\Users\\x\\a.png", "a.png"],
      ["a\u202egnp.exe", "agnp.exe"],
      ["..", "file"]
    ] as const)
      expect((await attach({ type: "Member", id }, { name: sent })).body.attachment.original_name).toBe(kept)
  })
})
