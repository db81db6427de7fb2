import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Store } from "../../core/kernel/store/store.ts"
import { custom_fields, customFieldsFor } from "../../core/kernel/lists/custom-field.ts"
import { product_groups } from "../../core/products/products/api.ts"
import { both_engines } from "../app.ts"
import { serve, type Serving } from "./serving.ts"

const noon = Date.parse("2026-06-18T12:00:00.000Z")
const namesOf = (id: number) =>
  Effect.gen(function* () {
    const store = yield* Store
    const [one] = yield* store.getMany(product_groups, [id])
    const [same] = yield* store.find(product_groups, { id })
    return [one?.name, same?.name]
  })
const renamedUnseen = (id: number, name: string) =>
  Effect.flatMap(Store, (store) => store.run(`update product_groups set name = '${name}' where id = ${id}`))

describe.each(both_engines)("rows cached between requests on %s", (engine) => {
  let server: Serving
  beforeAll(async () => {
    server = await serve(engine)
  })
  afterAll(() => server.close())
  const made = async (path: string, json: object) => {
    const got = await server.ask(path, { json })
    expect(got.status).toBe(201)
    return got.body
  }
  const group = async (name: string): Promise<number> =>
    (await made("/api/v1/product_groups", { name })).product_group.id

  it("show a changed name or custom field in the next response", async () => {
    const product_group_id = await group("Lamps")
    const {
      product: { id }
    } = await made("/api/v1/products", { name: "Par 64", product_group_id })
    const shown = async () => (await server.ask(`/api/v1/products/${id}`)).body.product
    expect(await shown()).toMatchObject({ product_group_name: "Lamps", custom_fields: {} })
    await server.ask(`/api/v1/product_groups/${product_group_id}`, { method: "PUT", json: { name: "Lights" } })
    expect((await shown()).product_group_name).toBe("Lights")
    const { custom_field } = await made("/api/v1/custom_fields", {
      name: "Watts",
      module_type: "Product",
      field_type: 2
    })
    expect((await shown()).custom_fields).toEqual({ Watts: null })
    await server.ask(`/api/v1/custom_fields/${custom_field.id}`, { method: "PUT", json: { is_active: false } })
    expect((await shown()).custom_fields).toEqual({})
    await server.ask(`/api/v1/product_groups/${product_group_id}`, { method: "DELETE" })
    expect((await shown()).product_group_name).toBeNull()
  })
  it("are read again after any commit of this server, and otherwise after a second", async () => {
    const id = await group("Truss")
    server.setClock(noon)
    expect(await server.run(namesOf(id))).toEqual(["Truss", "Truss"])
    await server.run(renamedUnseen(id, "Changed by other means"))
    // On Postgres the notice of the group's creation may arrive only now, and invalidates the cache.
    if (engine === "sqlite") expect(await server.run(namesOf(id))).toEqual(["Truss", "Truss"])
    server.setClock(noon + 1_000)
    expect(await server.run(namesOf(id))).toEqual(["Changed by other means", "Changed by other means"])
    await server.run(renamedUnseen(id, "Changed again"))
    await group("Anything")
    expect(await server.run(namesOf(id))).toEqual(["Changed again", "Changed again"])
  })
  it("show uncommitted changes only to the transaction that made them", async () => {
    const id = await group("Hoists")
    server.setClock(noon)
    expect(await server.run(namesOf(id))).toEqual(["Hoists", "Hoists"])
    const within = await server.run(
      Effect.gen(function* () {
        const store = yield* Store
        const seen: Array<unknown> = []
        yield* Effect.exit(
          store.transaction(
            Effect.gen(function* () {
              yield* renamedUnseen(id, "Never")
              seen.push(...(yield* namesOf(id)))
              return yield* Effect.die("taken back")
            })
          )
        )
        return seen
      })
    )
    expect(within).toEqual(["Never", "Never"])
    expect(await server.run(namesOf(id))).toEqual(["Hoists", "Hoists"])
    server.setClock(noon + 1_000)
    expect(await server.run(namesOf(id))).toEqual(["Hoists", "Hoists"])
  })
  it("include custom fields, which a transaction reads from the cache until it changes one", async () => {
    const { custom_field } = await made("/api/v1/custom_fields", {
      name: "Ohms",
      module_type: "Product",
      field_type: 2
    })
    server.setClock(noon)
    const labels = Effect.map(customFieldsFor("Product"), (rows) => rows.map(({ display_name }) => display_name))
    const set = (display_name: string) => ({
      op: "update" as const,
      table: custom_fields,
      key: custom_field.id,
      set: { display_name }
    })
    const [before, unseen, own] = await server.run(
      Effect.gen(function* () {
        const store = yield* Store
        const read = yield* labels
        return yield* store.transaction(
          Effect.gen(function* () {
            yield* store.run("update custom_fields set display_name = 'By hand' where name = 'Ohms'")
            const kept = yield* labels
            yield* store.apply([set("Resistance")])
            return [read, kept, yield* labels]
          })
        )
      })
    )
    expect([before, own]).toEqual([[custom_field.display_name], ["Resistance"]])
    // On Postgres the notice of the field's creation may arrive only now, and invalidates the cache.
    if (engine === "sqlite") expect(unseen).toEqual(before)
    expect(await server.run(labels)).toEqual(["Resistance"])
  })
  it("cannot be changed by the code that reads them", async () => {
    const id = await group("Desks")
    for (let time = 0; time < 2; time++) {
      const [row] = await server.run(Effect.flatMap(Store, (store) => store.getMany(product_groups, [id])))
      expect(() => {
        ;(row as { name: string }).name = "Mine"
      }).toThrow(TypeError)
    }
  })
})
