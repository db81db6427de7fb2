/** A server with people of several roles, and what they find in their inboxes. */
import { expect } from "vitest"
import type { Engine } from "../../app.ts"
import { nothing_outside } from "../../../server/outside.ts"
import { Effect } from "effect"
import { Store } from "../../../core/kernel/store/store.ts"
import { serve, type ServeOptions, type Serving } from "../serving.ts"

export const poll = { timeout: 30_000, interval: 20 }

export interface Person {
  readonly user_id: number
  readonly member_id: number
  readonly token: string
}
export interface House extends Serving {
  readonly did: (status: number, method: string, path: string, json?: object, token?: string) => Promise<any>
  readonly sql: (text: string) => Promise<ReadonlyArray<any>>
  /** Somebody with an open account, a role with these permissions or of this name, and a token. */
  readonly person: (name: string, rights: string | ReadonlyArray<string>) => Promise<Person>
  readonly inbox: (person?: Person, query?: string) => Promise<ReadonlyArray<any>>
  /** Waits until nothing waits to be told. */
  readonly told: () => Promise<void>
}

export const house = async (engine: Engine, options: ServeOptions = {}): Promise<House> =>
  houseOf(await serve(engine, { outside: nothing_outside, ...options }))
export const houseOf = (server: Serving): House => {
  const did: House["did"] = async (status, method, path, json, token) => {
    const got = await server.ask(`/api/v1${path}`, {
      method,
      ...(json === undefined ? {} : { json }),
      ...(token === undefined ? {} : { token })
    })
    expect(got.status, got.text).toBe(status)
    return got.body
  }
  const sql: House["sql"] = (text) => server.run(Effect.flatMap(Store, (store) => store.run(text)))
  return {
    ...server,
    did,
    sql,
    person: async (name, rights) => {
      const role =
        typeof rights === "string"
          ? rights
          : (await did(201, "POST", "/roles", { name: `Role of ${name}`, permissions: rights })).role.name
      const email = `${name.toLowerCase().replaceAll(" ", ".")}@example.com`
      const { user } = await did(201, "POST", "/users", { name, email, roles: [role] })
      await did(200, "POST", `/users/${user.id}/activate`)
      const { token } = await did(201, "POST", "/tokens", { name, abilities: ["*"], user_id: user.id })
      const [row] = await sql(`select member_id from users where id = ${user.id}`)
      return { user_id: user.id, member_id: Number(row.member_id), token: token.secret }
    },
    inbox: async (person, query = "") =>
      (await did(200, "GET", `/notifications?per_page=100${query}`, undefined, person?.token)).notifications,
    told: async () => {
      await expect
        .poll(
          async () =>
            (
              await sql(
                "select count(*) as waiting from effect_queue where state = 'pending' and queue_name like 'notifications.tell%'"
              )
            ).map(({ waiting }) => Number(waiting)),
          poll
        )
        .toEqual([0])
    }
  }
}
