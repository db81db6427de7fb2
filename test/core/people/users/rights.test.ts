/**
 * No user grants, removes or edits a role, user, token or device with a permission they lack: for all relations of
 * permission sets.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { systemRoles } from "../../../../core/people/users/permissions.ts"
import { newSeed, publicKeyOf } from "../../../../sync/protocol/bundle-format.ts"
import { serve, type Serving } from "../../../server/serving.ts"
import { words } from "../../../words.ts"

/** Permissions of every actor, so that only the rule itself can refuse. */
const tools = words("users.view users.invite users.edit users.deactivate users.activate roles.view roles.manage")
const others = ["members.view", "stock.adjust", "settings.manage"]
/** One contains the other, or they are disjoint, or they overlap. */
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
  const ask = async (method: string, path: string, json?: unknown, by?: Pick<Actor, "secret">) =>
    await server.ask(`/api/v1/${path}`, {
      method,
      ...(json === undefined ? {} : { json }),
      ...(by === undefined ? {} : { token: by.secret })
    })
  const create = async (path: string, json: object, key: string, by?: Pick<Actor, "secret">): Promise<any> => {
    const got = await ask("POST", path, json, by)
    expect(got.status, got.text).toBe(201)
    return got.body[key]
  }
  const roleWith = async (permissions: ReadonlyArray<string>): Promise<{ id: number; name: string }> =>
    await create("roles", { name: `Role ${++made}`, permissions }, "role")
  const userWith = async (roles: ReadonlyArray<string>): Promise<number> =>
    (await create("users", { name: "Somebody", email: `person-${++made}@example.com`, roles, active: true }, "user")).id
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

  /** Actions on a holder of `theirs`, each on its own rows. Returns the status. */
  const acts: ReadonlyArray<readonly [string, (theirs: ReadonlyArray<string>, actor: Actor) => Promise<number>]> = [
    [
      "change somebody's e-mail address",
      async (theirs, actor) =>
        (
          await ask(
            "PUT",
            `users/${await userWith([(await roleWith(theirs)).name])}`,
            { email: `taken-${++made}@example.com` },
            actor
          )
        ).status
    ],
    [
      "deactivate somebody",
      async (theirs, actor) =>
        (await ask("DELETE", `users/${await userWith([(await roleWith(theirs)).name])}`, undefined, actor)).status
    ],
    [
      "bring somebody back",
      async (theirs, actor) => {
        const id = await userWith([(await roleWith(theirs)).name])
        await ask("DELETE", `users/${id}`)
        return (await ask("POST", `users/${id}/activate`, undefined, actor)).status
      }
    ],
    [
      "take a role from somebody",
      async (theirs, actor) =>
        (await ask("PUT", `users/${await userWith([(await roleWith(theirs)).name])}`, { roles: [] }, actor)).status
    ],
    [
      "give a role to somebody",
      async (theirs, actor) =>
        (await ask("PUT", `users/${await userWith([])}`, { roles: [(await roleWith(theirs)).name] }, actor)).status
    ],
    [
      "give a role to themselves",
      async (theirs, actor) => {
        const { status } = await ask(
          "PUT",
          `users/${actor.user_id}`,
          { roles: [actor.role, (await roleWith(theirs)).name] },
          actor
        )
        if (status < 300) await ask("PUT", `users/${actor.user_id}`, { roles: [actor.role] })
        return status
      }
    ],
    [
      "invite somebody with a role",
      async (theirs, actor) =>
        (
          await ask(
            "POST",
            "users",
            { name: "New", email: `new-${++made}@example.com`, roles: [(await roleWith(theirs)).name] },
            actor
          )
        ).status
    ],
    [
      "make a role",
      async (theirs, actor) =>
        (await ask("POST", "roles", { name: `Role ${++made}`, permissions: theirs }, actor)).status
    ],
    [
      "rename a role",
      async (theirs, actor) =>
        (await ask("PUT", `roles/${(await roleWith(theirs)).id}`, { description: "theirs" }, actor)).status
    ],
    [
      "empty a role",
      async (theirs, actor) =>
        (await ask("PUT", `roles/${(await roleWith(theirs)).id}`, { permissions: [] }, actor)).status
    ],
    [
      "fill a role",
      async (theirs, actor) =>
        (await ask("PUT", `roles/${(await roleWith([])).id}`, { permissions: theirs }, actor)).status
    ],
    [
      "delete a role",
      async (theirs, actor) => (await ask("DELETE", `roles/${(await roleWith(theirs)).id}`, undefined, actor)).status
    ],
    [
      "take somebody's token away",
      async (theirs, actor) =>
        (
          await ask(
            "DELETE",
            `tokens/${(await tokenOf(await userWith([(await roleWith(theirs)).name]))).id}`,
            undefined,
            actor
          )
        ).status
    ],
    [
      "rename somebody's device",
      async (theirs, actor) =>
        (await ask("PUT", `sync/replicas/${await deviceOf(theirs)}`, { name: "mine" }, actor)).status
    ],
    [
      "revoke somebody's device",
      async (theirs, actor) => (await ask("DELETE", `sync/replicas/${await deviceOf(theirs)}`, undefined, actor)).status
    ]
  ]
  const deviceOf = async (theirs: ReadonlyArray<string>): Promise<number> => {
    const token = await tokenOf(await userWith([(await roleWith(theirs)).name]))
    return (await create("sync/replicas", { name: "van", public_key: publicKeyOf(newSeed()) }, "replica", token)).id
  }

  it.each(acts)("can %s with all permissions involved, and not otherwise", async (_, act) => {
    const wrong: Array<string> = []
    for (const [held, actor] of actors) {
      for (const theirs of sets) {
        const status = await act(theirs, actor)
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
        await ask("PUT", `users/${target}`, { email: `x-${++made}@example.com` }, most![1]),
        await ask("PUT", `users/${target}`, { roles: [] }, most![1]),
        await ask("DELETE", `users/${target}`, undefined, most![1]),
        await ask("DELETE", `tokens/${id}`, undefined, most![1])
      ]
      for (const { status } of tries) expect([403, 422], `user ${target}`).toContain(status)
    }
  })
})
