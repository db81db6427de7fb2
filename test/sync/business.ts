/** A server for each test of a suite, people with rights of their own, and devices that are closed with it. */
import { afterEach, beforeEach, expect } from "vitest"
import type { Engine } from "../app.ts"
import { type FillTestServer, enrolled, type Filled, type Hooks, openFillTestServer } from "./filling.ts"
import type { Person } from "./people.ts"

/** Somebody with a role of their own that permits just this. */
export interface PersonWithRole extends Person {
  readonly role_id: number
  /** From now on the role permits just this. */
  readonly grant: (permissions: ReadonlyArray<string>) => ReturnType<FillTestServer["ask"]>
}
export interface BusinessOfTest {
  readonly business: FillTestServer
  /** Closed after the test; a test may add what it enrols by itself. */
  readonly devices: Array<Filled>
  /** What a write that must succeed answers with. */
  readonly make: (path: string, body: object, token?: string) => Promise<any>
  readonly person: (permissions: ReadonlyArray<string>) => Promise<PersonWithRole>
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
    must: (...asked) => now().must(...asked),
    letIn: (person) => now().letIn(person),
    letInWith: (person) => now().letInWith(person),
    tables: () => now().tables(),
    run: (effect) => now().run(effect),
    close: () => now().close()
  }
  const make: BusinessOfTest["make"] = async (path, body, token) =>
    Object.values(await business.must("POST", path, body, token))[0]
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
      const person = await business.letInWith({ name: `Person ${++people}`, permissions })
      return {
        ...person,
        grant: (now_permitted) => business.ask("PUT", `roles/${person.role_id}`, { permissions: now_permitted })
      }
    }
  }
}
