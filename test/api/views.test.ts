/** Acceptance scenarios of cases/conventions.md, section D, by their numbers; and views shared by role, through tokens of real people. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { engines } from "../app.ts"
import { type Got, serve, type Serving } from "../server/serving.ts"

describe.each(engines)("saved views over HTTP on %s", (engine) => {
  let server: Serving
  const api = (path: string, sent?: Parameters<Serving["ask"]>[1]): Promise<Got> => server.ask(`/api/v1${path}`, sent)
  const post = (path: string, json: object, token?: string): Promise<Got> =>
    api(path, { method: "POST", json, ...(token === undefined ? {} : { token }) })
  const made = async (path: string, json: object, token?: string): Promise<any> => {
    const got = await post(path, json, token)
    expect(got.status, got.text).toBe(201)
    return Object.values(got.body as object)[0]
  }
  const refusedOn = async (json: object): Promise<unknown> => {
    const got = await post("/custom_views", { name: "V", entity_type: "members", columns: ["name"], ...json })
    return [got.status, Object.keys(got.body.errors)]
  }
  const companies = (columns: ReadonlyArray<string>) =>
    made("/custom_views", {
      name: "Companies",
      entity_type: "members",
      columns,
      filters: [{ field: "membership_type", predicate: "eq", value: "organisation" }]
    })
  beforeAll(async () => {
    server = await serve(engine)
    await made("/custom_fields", { name: "po_reference", module_type: "Member", field_type: 0 })
    await made("/custom_fields", { name: "other", module_type: "Member", field_type: 0 })
    await made("/members", {
      name: "Open Ltd",
      membership_type: "organisation",
      custom_fields: { po_reference: "PO-123", other: "x" }
    })
    await made("/members", { name: "Shut Ltd", membership_type: "organisation", is_active: false })
    await made("/members", { name: "Ann", membership_type: "contact" })
  })
  afterAll(() => server.close())

  it("D1 defaults of a new view", async () => {
    const {
      body: {
        users: [caller]
      }
    } = await api("/users")
    expect(await made("/custom_views", { name: "V", entity_type: "members", columns: ["name"] })).toMatchObject({
      visibility: "personal",
      user_id: caller.id,
      sort_direction: "asc",
      per_page: 20,
      filters: [],
      is_default: false,
      config: {}
    })
  })
  it("D3 no rows are listed under that name", async () => {
    expect(await refusedOn({ entity_type: "not_real" })).toEqual([422, ["entity_type"]])
  })
  it("D5 a page size above the limit, an unknown direction", async () => {
    expect(await refusedOn({ per_page: 200 })).toEqual([422, ["per_page"]])
    expect(await refusedOn({ sort_direction: "up" })).toEqual([422, ["sort_direction"]])
  })
  it("D7 a system view outlives its deletion", async () => {
    const {
      body: {
        custom_views: [view]
      }
    } = await api("/custom_views?q[visibility_eq]=system")
    expect((await api(`/custom_views/${view.id}`, { method: "DELETE" })).status).toBe(422)
    expect((await api(`/custom_views/${view.id}`)).body.custom_view).toEqual(view)
  })
  it("D9 only its rows and columns, and its name; D11 combined with the request's other parameters", async () => {
    const view = await companies(["name", "created_at"])
    const { body } = await api(`/members?view_id=${view.id}`)
    expect(body.members.map((row: object) => Object.keys(row).sort())).toEqual([
      ["created_at", "id", "name"],
      ["created_at", "id", "name"]
    ])
    expect(body.meta.view).toEqual({ id: view.id, name: "Companies" })
    expect(
      (await api(`/members?view_id=${view.id}&q[is_active_eq]=true`)).body.members.map((row: any) => row.name)
    ).toEqual(["Open Ltd"])
  })
  it("D13 of the custom fields the one it names", async () => {
    const {
      body: { members }
    } = await api(`/members?view_id=${(await companies(["cf.po_reference"])).id}`)
    expect(members.map((row: any) => row.custom_fields)).toEqual([{ po_reference: "PO-123" }, { po_reference: null }])
  })
  it("are shared with the roles they name", async () => {
    const roles: Array<any> = []
    const tokens: Array<string> = []
    for (const name of ["Desk", "Yard"]) {
      roles.push(await made("/roles", { name, permissions: ["members.view"] }))
      const user = await made("/users", {
        name: `Of the ${name}`,
        email: `${name}@example.com`,
        roles: [name],
        active: true
      })
      tokens.push(
        (
          await made("/tokens", {
            name,
            abilities: ["members:read", "custom-views:read", "custom-views:write"],
            user_id: user.id
          })
        ).secret
      )
    }
    const [context, yard] = tokens as [string, string]
    const view = await made("/custom_views", {
      name: "The desk's",
      entity_type: "members",
      columns: ["name"],
      visibility: "shared",
      role_ids: [roles[0].id]
    })
    const own = await made("/custom_views", { name: "My own", entity_type: "members", columns: ["name"] }, context)
    const statuses = async (token: string): Promise<ReadonlyArray<number>> => [
      (await api(`/members?view_id=${view.id}`, { token })).status,
      (await api(`/members?view_id=${own.id}`, { token })).status
    ]
    expect(await statuses(context)).toEqual([200, 200])
    expect(await statuses(yard)).toEqual([404, 404])
    expect((await api(`/custom_views/${own.id}`, { method: "PUT", json: { name: "Ours" }, token: yard })).status).toBe(
      404
    )
    expect((await api("/custom_views", { token: yard })).body.custom_views.map((one: any) => one.id)).not.toContain(
      view.id
    )
  })
})
