/** A server with users of several roles, and their inboxes. */
import { expect } from "vitest"
import type { Engine } from "../../../app.ts"
import { nothing_outside } from "../../../../server/ports/outside.ts"
import { houseOn, poll } from "../../house.ts"
import { serve, type ServeOptions, type Serving } from "../../serving.ts"

export { poll } from "../../house.ts"

export interface Person {
  readonly user_id: number
  readonly member_id: number
  readonly token: string
}
export const house = async (engine: Engine, options: ServeOptions = {}) =>
  houseOf(await serve(engine, { outside: nothing_outside, ...options }))
export const houseOf = (server: Serving) => {
  const one = houseOn(server)
  const waiting = "select id from effect_queue where state = 'pending' and queue_name like 'notifications.tell%'"
  return {
    ...one,
    /** Creates a user with a token and a role of this name or with these permissions. */
    person: async (name: string, rights: string | ReadonlyArray<string>): Promise<Person> => {
      const { secret, ...ids } = await one.person({
        name,
        ...(typeof rights === "string" ? { roles: [rights] } : { permissions: rights })
      })
      return { ...ids, token: secret }
    },
    inbox: async (person?: Person, query = "") =>
      (await one.did(200, "GET", `/notifications?per_page=100${query}`, undefined, person?.token)).notifications,
    /** Waits until the notifications of all events are written. */
    told: (): Promise<void> => expect.poll(() => one.sql(waiting), poll).toEqual([])
  }
}
export type House = ReturnType<typeof houseOf>
