import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { catalogue } from "../../../../core/catalogue.ts"
import { Store } from "../../../../core/kernel/store/store.ts"
import { hasOnePermission, type Viewer } from "../../../../core/kernel/fields/rejection.ts"
import { roles, users, viewerOf } from "../../../../core/people/users/permissions.ts"
import { ownerEvents } from "../../../../core/people/users/decide.ts"
import { engines, owner, permissionsOfRole, viewerWith } from "../../../app.ts"
import { appHouse, itFoldsAgain, refused } from "../../../app-house.ts"
import { words } from "../../../words.ts"

const role = permissionsOfRole

describe("the initial roles", () => {
  it("give Operations Manager all of Admin's permissions except some on settings, users and roles", () => {
    const without = role("Admin").filter((key) => !role("Operations Manager").includes(key))
    expect(without.map((key) => key.split(".")[0]).filter((area, at, all) => all.indexOf(area) === at)).toEqual([
      "settings",
      "users",
      "roles"
    ])
    expect(role("Operations Manager")).toContain("opportunities.fulfil")
    for (const key of words(`
      costs.view invoices.issue payments.record purchase_orders.receive containers.seal documents.share pricing.manage
      opportunities.unlock_rates
    `)) {
      expect(role("Operations Manager")).toContain(key)
    }
  })
  it("permit opportunities, activities, invoices and members to Sales", () => {
    expect([...role("Sales")].sort()).toEqual(
      [
        ...["access", "view", "create", "edit", "delete", "fulfil"].map((one) => `opportunities.${one}`),
        ...["access", "view", "create", "edit", "delete", "complete"].map((one) => `activities.${one}`),
        ...["access", "view", "create", "edit", "delete", "issue", "void", "credit"].map((one) => `invoices.${one}`),
        ...["access", "view", "create", "edit", "delete"].map((one) => `members.${one}`),
        ...["view", "create", "share"].map((one) => `documents.${one}`),
        "payments.record",
        "shortages.view",
        "shortages.resolve",
        "products.view",
        "reports.view",
        "availability.view",
        "stock.view",
        "kits.view",
        "containers.view"
      ].sort()
    )
  })
  it("permit stock, products and containers to Warehouse", () => {
    expect([...role("Warehouse")].sort()).toEqual(
      [
        ...["access", "view", "adjust", "transfer"].map((one) => `stock.${one}`),
        ...["access", "view", "create", "edit", "delete"].map((one) => `products.${one}`),
        ...["view", "create", "edit", "pack", "seal", "dispatch", "transfer", "repack", "dissolve"].map(
          (one) => `containers.${one}`
        ),
        "kits.view",
        "kits.manage",
        "availability.view",
        "members.view",
        "reports.view",
        "shortages.view",
        "shortages.resolve",
        "purchase_orders.view",
        "purchase_orders.receive",
        "documents.view",
        "opportunities.view",
        "opportunities.fulfil",
        "activities.view"
      ].sort()
    )
  })
  it("permit only reading, and no costs, to Read Only", () => {
    expect(role("Read Only")).toEqual(
      expect.arrayContaining(["members.view", "opportunities.access", "purchase_orders.view", "settings.view"])
    )
    expect(role("Read Only").filter((key) => !/\.(view|access)$/.test(key) || key === "costs.view")).toEqual([])
  })
  it("are granted from a list that has every permission an endpoint requires", () => {
    const asked = catalogue.endpoints.flatMap(({ name, permission }) =>
      (permission === null ? [] : [permission].flat())
        .filter((key: string) => !catalogue.permissions.some((one) => one.key === key))
        .map((key: string) => `${name}: ${key}`)
    )
    expect(asked).toEqual([])
  })
})

describe.each(engines)("users on %s", (engine) => {
  const w = appHouse(engine)
  let next = 0
  const invite = async (body: object = {}, viewer: Viewer = owner) =>
    await w.post(
      "/users",
      { name: "Pat", email: `pat${++next}@example.com`, roles: ["Sales"], active: true, ...body },
      viewer
    )
  /** Creates a user with these roles, and returns the viewer they are after login. */
  const viewerFor = async (...names: ReadonlyArray<string>): Promise<Viewer> => {
    const { id } = (await invite({ roles: names })).body.user
    return await w.app.run(
      Effect.gen(function* () {
        const store = yield* Store
        return viewerOf((yield* store.get(users, id))!, yield* store.find(roles, {}), { id: 5, abilities: ["*"] })
      })
    )
  }

  it("are created with their member by an invitation", async () => {
    const made = await invite({ name: "Sam", email: "Sam@Example.com", active: undefined })
    expect(made.status).toBe(201)
    expect(made.body.user).toMatchObject({
      name: "Sam",
      email: "Sam@Example.com",
      roles: ["Sales"],
      is_owner: false,
      is_admin: false,
      is_active: false,
      email_verified_at: null,
      invitation_accepted_at: null,
      last_login_at: null,
      deactivated_at: null,
      invited_at: expect.stringMatching(/Z$/)
    })
    const member = await w.get(`/members/${made.body.user.member_id}`)
    expect(member.body.member).toMatchObject({ name: "Sam", membership_type: "user", is_active: false })
    const active = await invite({ roles: ["admin"] })
    expect(active.body.user).toMatchObject({
      is_active: true,
      is_admin: true,
      roles: ["Admin"],
      invitation_accepted_at: active.body.user.invited_at
    })
    expect((await w.show(`/users/${active.body.user.id}?include=member`)).member).toMatchObject({ name: "Pat" })
  })
  it("are rejected with an error at each invalid field of the invitation", async () => {
    const errors = async (body: object) => Object.keys((await w.post("/users", body)).body.errors ?? {})
    expect(await errors({})).toEqual(["name", "email"])
    expect(await errors({ name: "x", email: "nobody", roles: "Sales" })).toEqual(["email", "roles"])
    expect(await errors({ name: "x", email: "x@example.com", roles: ["Sales", "Pirate"] })).toEqual(["roles.1"])
    expect(await errors({ name: "x", email: "sam@example.COM" })).toEqual(["email"])
    expect((await w.get("/members?q[name_eq]=x")).body.meta.total).toBe(0)
  })
  it("are granted only roles lower than those of the granting user", async () => {
    const admin = await viewerFor("Admin")
    expect((await invite({ roles: ["Operations Manager"] }, admin)).status).toBe(201)
    expect((await invite({ roles: ["Admin"] }, admin)).body.errors).toHaveProperty("roles")
    expect((await invite({ roles: ["Admin"] })).status).toBe(201)
    const inviter = { ...viewerWith(["users.invite", "users.edit"], ["users:write"]), user_id: 999_999 }
    expect((await invite({ roles: ["Read Only"] }, inviter)).status).toBe(422)
    expect((await invite({ roles: [] }, inviter)).status).toBe(201)
    const sales = (await invite()).body.user
    expect((await w.put(`/users/${sales.id}`, { roles: ["Warehouse", "Sales"] }, admin)).body.user.roles).toEqual([
      "Sales",
      "Warehouse"
    ])
    expect((await w.put(`/users/${sales.id}`, { roles: ["Admin"] }, admin)).body.errors).toHaveProperty("roles")
    expect((await w.put(`/users/${admin.user_id}`, { roles: [] }, admin)).body.errors).toHaveProperty("roles")
  })
  it("pass a change of name on to the member, and cannot be changed by users of lower roles", async () => {
    const { user } = (await invite({ roles: ["Operations Manager"] })).body
    const renamed = await w.put(`/users/${user.id}`, { name: "Robin", roles: null })
    expect(renamed.body.user).toMatchObject({ name: "Robin", email: user.email, roles: ["Operations Manager"] })
    expect((await w.show(`/members/${user.member_id}`)).name).toBe("Robin")
    const editor = await viewerFor("Sales")
    const powers = { ...editor, permissions: new Set(["users.edit", "users.deactivate", "users.activate"]) }
    expect((await w.put(`/users/${user.id}`, { email: "taken-over@example.com" }, powers)).status).toBe(403)
    expect((await w.remove(`/users/${user.id}`, powers)).status).toBe(403)
    expect((await w.put(`/users/${editor.user_id}`, { name: "Myself" }, powers)).status).toBe(200)
    await refused(w.put(`/users/${user.id}`, { email: renamed.body.user.email, name: "" }), "name")
  })
  it("are deactivated by deletion and can be reactivated, and cannot delete themselves", async () => {
    const { user } = (await invite()).body
    const path = `/users/${user.id}`
    expect((await w.remove(path)).status).toBe(204)
    expect(await w.show(path)).toMatchObject({ is_active: false, deactivated_at: expect.stringMatching(/Z$/) })
    expect((await w.show(`/members/${user.member_id}`)).is_active).toBe(false)
    expect((await w.remove(path)).status).toBe(204)
    expect(await w.create(`${path}/activate`)).toMatchObject({
      is_active: true,
      deactivated_at: null,
      invited_at: user.invited_at
    })
    const invited = (await invite({ active: false })).body.user
    expect(await w.create(`/users/${invited.id}/activate`)).toMatchObject({
      is_active: true,
      invitation_accepted_at: expect.any(String)
    })
    const admin = await viewerFor("Admin")
    expect((await w.remove(`/users/${admin.user_id}`, admin)).body.errors).toHaveProperty("user")
    expect((await w.remove("/users/999999")).status).toBe(404)
  })
  it("have the permissions of all their roles; a token narrows abilities, not permissions", async () => {
    const viewer = await viewerFor("Sales", "Read Only")
    expect(hasOnePermission(viewer, "invoices.issue")).toBe(true)
    expect(hasOnePermission(viewer, "settings.view")).toBe(true)
    expect(hasOnePermission(viewer, "settings.manage")).toBe(false)
    expect(viewer.token_id).toBe(5)
    expect(viewer.person_id).toEqual(expect.any(Number))
    const row = { id: 1, role_ids: [], is_owner: true, is_active: true, name: "O", member_id: 1 } as never
    expect(viewerOf(row, [], null)).toMatchObject({ is_owner: true, token_id: null, abilities: new Set(["*"]) })
    expect(viewerOf(row, [], { id: 9, abilities: ["members:read"] })).toMatchObject({
      token_id: 9,
      abilities: new Set(["members:read"])
    })
  })
  it("begin with an owner, who has a member record", () => {
    const [member, user] = ownerEvents(
      { name: "Olu", email: "olu@example.com" },
      { user_id: 1, member_id: 1 },
      "2026-01-01T00:00:00.000Z"
    )
    expect(member).toMatchObject({
      stream: "member:1",
      type: "member.created",
      data: { name: "Olu", membership_type: "user", is_active: true }
    })
    expect(user).toMatchObject({
      stream: "user:1",
      type: "user.invited",
      data: { email: "olu@example.com", is_owner: true, is_active: true, member_id: 1 }
    })
  })
  it("have system roles with a fixed name, or custom ones that can be deleted once no user has them", async () => {
    const { body } = await w.get("/roles")
    expect(body.roles.map((one) => [one.name, one.level, one.cost_visibility])).toEqual([
      ["Admin", 80, true],
      ["Operations Manager", 60, true],
      ["Sales", 40, false],
      ["Warehouse", 35, false],
      ["Read Only", 20, false]
    ])
    expect((await w.put("/roles/3", { name: "Shop" })).body.errors).toHaveProperty("name")
    expect((await w.remove("/roles/3")).body.errors).toHaveProperty("role")
    const made = await w.post("/roles", {
      name: "Driver",
      permissions: ["opportunities.view", "opportunities.view"],
      level: 99
    })
    expect(made.status).toBe(201)
    expect(made.body.role).toMatchObject({
      name: "Driver",
      level: 0,
      is_system: false,
      permissions: ["opportunities.view"],
      cost_visibility: false
    })
    const id = made.body.role.id
    expect((await w.post("/roles", { name: "driver" })).body.errors).toHaveProperty("name")
    await refused(w.post("/roles", { name: "X", permissions: ["members.view", "members.fly"] }), "permissions.1")
    const { user } = (await invite({ roles: ["Driver"] })).body
    expect((await w.remove(`/roles/${id}`)).body.errors).toHaveProperty("role")
    await w.put(`/users/${user.id}`, { roles: [] })
    expect((await w.remove(`/roles/${id}`)).status).toBe(204)
  })
  it("cannot grant permissions they lack, nor change roles that have such permissions or an equal rank", async () => {
    const keeper = { ...(await viewerFor("Sales")), permissions: new Set(["roles.manage", "members.view"]) }
    const held = [...(await viewerFor("Warehouse")).permissions, ...(await viewerFor("Sales")).permissions]
    const fuller = { ...keeper, permissions: new Set([...held, "roles.manage"]) }
    expect((await w.post("/roles", { name: "Mini", permissions: ["members.view"] }, keeper)).status).toBe(201)
    await refused(w.post("/roles", { name: "Maxi", permissions: ["settings.manage"] }, keeper), "permissions.0")
    expect((await w.put("/roles/3", { description: "mine" }, keeper)).body.errors).toHaveProperty("role")
    expect((await w.put("/roles/4", { description: "theirs" }, keeper)).body.errors).toHaveProperty("role")
    expect((await w.put("/roles/4", { description: "theirs" }, fuller)).status).toBe(200)
    expect((await w.put("/roles/3", { description: "theirs" }, fuller)).body.errors).toHaveProperty("role")
  })
  it("have permissions from one list; their tokens have abilities from another", async () => {
    const listed = (await w.get("/permissions")).body
    expect(listed.permissions).toContainEqual({ key: "invoices.issue", area: "invoices", action: "issue" })
    expect(listed.meta.total).toBe(listed.permissions.length)
    expect(await w.show("/abilities")).toContainEqual({ key: "credit-notes:read" })
  })
  it("require permissions to be read or changed, as roles do, and an ability to be listed", async () => {
    const { user } = (await invite()).body
    const nobody = viewerWith([], ["*"])
    for (const [method, path] of [
      ["GET", "/users"],
      ["POST", "/users"],
      ["PUT", `/users/${user.id}`],
      ["DELETE", `/users/${user.id}`],
      ["POST", `/users/${user.id}/activate`],
      ["GET", "/roles"],
      ["POST", "/roles"],
      ["GET", "/permissions"]
    ] as const) {
      expect([path, (await w.call(method, `${path}`, {}, nobody)).status]).toEqual([path, 403])
    }
    expect((await w.get("/users", viewerWith(["users.view"], ["members:read"]))).status).toBe(403)
  })
  itFoldsAgain(w)
})
