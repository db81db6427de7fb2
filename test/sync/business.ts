/** A server for each test of a suite, people with rights of their own, and devices that are closed with it. */
import { afterEach, beforeEach, expect } from "vitest"
import type { Engine } from "../app.ts"
import { type FillTestServer, enrolled, type Filled, type Hooks, openFillTestServer } from "./filling.ts"

/** Somebody with a role of their own that permits just this. */
export interface Person {
  readonly role: { readonly id: number; readonly name: string }
  readonly user_id: number
  /** Opens all that the person may do. */
  readonly token: string
  /** From now on the role permits just this. */
  readonly grant: (permissions: ReadonlyArray<string>) => ReturnType<FillTestServer["ask"]>
}
export interface BusinessOfTest {
  readonly business: FillTestServer
  /** Closed after the test; a test may add what it enrols by itself. */
  readonly devices: Array<Filled>
  /** What a write that must succeed answers with. */
  readonly make: (path: string, body: object, token?: string) => Promise<any>
  readonly person: (permissions: ReadonlyArray<string>) => Promise<Person>
  /** A device that knows nothing yet; the owner's unless a token is given. */
  readonly enrol: (hooks?: Hooks, token?: string, name?: string) => Promise<Filled>
  /** The same, synced. */
  readonly filled: BusinessOfTest["enrol"]
}

/** Call it first in a suite: what is opened for each test is there for the suite's own `beforeEach`. */
export const businessOfEachTest = (engine: Engine): BusinessOfTest => {
  let open: FillTestServer | undefined
  const devices: Array<Filled> = []
  let people = 0,
    enrolments = 0
  beforeEach(async () => {
    open = await openFillTestServer(engine)
  })
  afterEach(async () => {
    for (const device of devices.splice(0)) await device.close()
    await open?.close()
    open = undefined
  })
  const now = (): FillTestServer => open ?? expect.fail("no test is running")
  const business: FillTestServer = {
    get app() {
      return now().app
    },
    get url() {
      return now().url
    },
    get folder() {
      return now().folder
    },
    ask: (...asked) => now().ask(...asked),
    tables: () => now().tables(),
    run: (effect) => now().run(effect),
    close: () => now().close()
  }
  const make: BusinessOfTest["make"] = async (path, body, token) => {
    const answer = await business.ask("POST", path, body, token)
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
    return Object.values(answer.body)[0]
  }
  const enrol: BusinessOfTest["enrol"] = async (hooks = {}, token, name = `device-${++enrolments}`) => {
    const device = await enrolled(business, name, hooks, token)
    devices.push(device)
    return device
  }
  return {
    business,
    devices,
    make,
    enrol,
    filled: async (...asked) => {
      const device = await enrol(...asked)
      await device.sync()
      return device
    },
    person: async (permissions) => {
      const name = `Person ${++people}`
      const role = await make("roles", { name, permissions })
      const user = await make("users", { name, email: `person-${people}@example.com`, roles: [name], active: true })
      const { secret } = await make("tokens", { name, abilities: ["*"], user_id: user.id })
      return {
        role,
        user_id: user.id,
        token: secret,
        grant: (now_permitted) => business.ask("PUT", `roles/${role.id}`, { permissions: now_permitted })
      }
    }
  }
}
