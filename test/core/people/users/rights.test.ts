/**
 * No user grants, removes or edits a role, user, token or device with a permission they lack, for all relations of
 * permission sets.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { systemRoles } from "../../../../core/people/users/decide.ts"
import { newSeed, publicKeyOf } from "../../../../sync/protocol/bundle-format.ts"
import { serve, type Serving } from "../../../server/serving.ts"
import { words } from "../../../words.ts"

/** Permissions every acting user has, so that only this rule can refuse. */
const tools = words("users.view users.invite users.edit users.deactivate users.activate roles.view roles.manage")
const others = ["members.view", "stock.adjust", "settings.manage"]
/** Sets of permissions that contain each other, are disjoint, or overlap. */
const sets: ReadonlyArray<ReadonlyArray<string>> = [[], [others[0]!], others.slice(0, 2), others.slice(1), others]
interface Actor {
  readonly secret: string
  readonly user_id: number
  readonly role: string
}
const shown = (set: ReadonlyArray<string>): string => (set.length === 0 ? "nothing more" : set.join(", "))

describe("a user who manages users and roles", () => {
  let server: Serving
  const actors = new Map<ReadonlyArray<string>, Actor>()
  let made = 0
  const email = () => `person-${++made}@example.com`
  const ask = async (method: string, path: string, json?: unknown, by?: Pick<Actor, "secret">) =>
    await server.ask(`/api/v1/${path}`, {
      method,
      ...(json === undefined ? {} : { json }),
      ...(by === undefined ? {} : { token: by.secret })
    })
  const create = async (path: string, json: object, key: string, by?: Pick<Actor, "secret">) => {
    const got = await ask("POST", path, json, by)
    expect(got.status, got.text).toBe(201)
    return got.body[key]
  }
  const roleWith = async (permissions: ReadonlyArray<string>): Promise<{ id: number; name: string }> =>
    await create("roles", { name: `Role ${++made}`, permissions }, "role")
  const userWith = async (roles: ReadonlyArray<string>): Promise<number> =>
    (await create("users", { name: "Somebody", email: email(), roles, active: true }, "user")).id
  const tokenOf = async (user_id: number): Promise<{ id: number; secret: string }> =>
    await create("tokens", { name: "t", abilities: ["*"], user_id }, "token")
  beforeAll(async () => {
    server = await serve("sqlite")
    for (const set of sets) {
      const role = (await roleWith([...tools, ...set])).name
      const user_id = await userWith([role])
      actors.set(set, { user_id, role, secret: (await tokenOf(user_id)).secret })
    }
  })
  afterAll(() => server.close())

  const roleNamed = async (permissions: ReadonlyArray<string>) => (await roleWith(permissions)).name
  const role = async (theirs: ReadonlyArray<string>) => `roles/${(await roleWith(theirs)).id}`
  const holderOf = async (theirs: ReadonlyArray<string>) => await userWith([await roleNamed(theirs)])
  const holder = async (theirs: ReadonlyArray<string>) => `users/${await holderOf(theirs)}`
  const deactivated = async (theirs: ReadonlyArray<string>) => {
    const path = await holder(theirs)
    await ask("DELETE", path)
    return path
  }
  const device = async (theirs: ReadonlyArray<string>) => {
    const token = await tokenOf(await holderOf(theirs))
    const body = { name: "van", public_key: publicKeyOf(newSeed()) }
    return `sync/replicas/${(await create("sync/replicas", body, "replica", token)).id}`
  }
  /** The request of an act, on a user, role, token or device that the act creates for it. */
  type Asked = readonly [method: string, path: string, json?: object]
  const acts: ReadonlyArray<readonly [string, (theirs: ReadonlyArray<string>, actor: Actor) => Promise<Asked>]> = [
    ["change somebody's e-mail address", async (theirs) => ["PUT", await holder(theirs), { email: email() }]],
    ["deactivate somebody", async (theirs) => ["DELETE", await holder(theirs)]],
    ["bring somebody back", async (theirs) => ["POST", `${await deactivated(theirs)}/activate`]],
    ["take a role from somebody", async (theirs) => ["PUT", await holder(theirs), { roles: [] }]],
    [
      "give a role to somebody",
      async (theirs) => ["PUT", `users/${await userWith([])}`, { roles: [await roleNamed(theirs)] }]
    ],
    [
      "give a role to themselves",
      async (theirs, actor) => ["PUT", `users/${actor.user_id}`, { roles: [actor.role, await roleNamed(theirs)] }]
    ],
    [
      "invite somebody with a role",
      async (theirs) => ["POST", "users", { name: "New", email: email(), roles: [await roleNamed(theirs)] }]
    ],
    ["make a role", async (theirs) => ["POST", "roles", { name: `Role ${++made}`, permissions: theirs }]],
    ["rename a role", async (theirs) => ["PUT", await role(theirs), { description: "theirs" }]],
    ["empty a role", async (theirs) => ["PUT", await role(theirs), { permissions: [] }]],
    ["fill a role", async (theirs) => ["PUT", await role([]), { permissions: theirs }]],
    ["delete a role", async (theirs) => ["DELETE", await role(theirs)]],
    [
      "take somebody's token away",
      async (theirs) => ["DELETE", `tokens/${(await tokenOf(await holderOf(theirs))).id}`]
    ],
    ["rename somebody's device", async (theirs) => ["PUT", await device(theirs), { name: "mine" }]],
    ["revoke somebody's device", async (theirs) => ["DELETE", await device(theirs)]]
  ]

  it.each(acts)("can %s only with all permissions involved", async (_, act) => {
    const wrong: Array<string> = []
    for (const [held, actor] of actors) {
      for (const theirs of sets) {
        const [method, path, json] = await act(theirs, actor)
        const { status } = await ask(method, path, json, actor)
        if (path === `users/${actor.user_id}`) await ask("PUT", path, { roles: [actor.role] })
        const may = theirs.every((one) => held.includes(one))
        if (may ? status >= 300 : status !== 403 && status !== 422)
          wrong.push(`with ${shown(held)}, where ${shown(theirs)} is held: ${status}`)
      }
    }
    expect(wrong).toEqual([])
  })
  it("cannot change the owner or users of a higher system role", async () => {
    const [most] = [...actors].filter(([set]) => set.length === others.length)
    for (const target of [1, ...(await Promise.all(systemRoles.map(({ name }) => userWith([name]))))]) {
      const { id } = await tokenOf(target)
      const tries = [
        await ask("PUT", `users/${target}`, { email: email() }, most![1]),
        await ask("PUT", `users/${target}`, { roles: [] }, most![1]),
        await ask("DELETE", `users/${target}`, undefined, most![1]),
        await ask("DELETE", `tokens/${id}`, undefined, most![1])
      ]
      for (const { status } of tries) expect([403, 422], `user ${target}`).toContain(status)
    }
  })
})
