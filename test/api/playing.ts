/** Runs scenarios of the specification on a server of either engine and on an offline device. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Layer, ManagedRuntime } from "effect"
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest"
import { catalogue } from "../../core/catalogue.ts"
import type { Json } from "../../core/kernel/fields/field.ts"
import { rebuild } from "../../core/kernel/runtime/schema.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { type Device, enrolDevice } from "../../sync/device/device.ts"
import { layer as sqliteLayer } from "../../sync/sqlite/client.ts"
import { both_engines, dumpTables, type Engine, engines, piecesHeld } from "../app.ts"
import { type CommandLine, openCommandLine } from "../cli/command-line.ts"
import { openListener, owner_token, serve } from "../server/serving.ts"
import type { Answer } from "../rental-house.ts"
import { answerProblem } from "./description.ts"
import { keeping, type Statuses, typed } from "./typed.ts"

export type Reply = Answer
export type Ask = (method: string, path: string, body?: unknown) => Promise<Reply>
/** State compared once all is synced: numbers, activity, demands. */
interface Settled {
  readonly ask: Ask
  /** Units claimed actively by one opportunity. */ readonly held: (id: number) => Promise<number>
}
export interface Answering {
  readonly ask: Ask
  /** A user with only these permissions and abilities; undefined on a device, which has one user only. */
  readonly somebody:
    | ((permissions: ReadonlyArray<string>, abilities: ReadonlyArray<string>) => Promise<Ask>)
    | undefined
  /** Requests without a token. */
  readonly nobody: Ask | undefined
}
export type Look = (settled: Settled) => Promise<void>
export interface Scenario<Name, Scene> {
  readonly n: Name
  readonly title: string
  readonly run: (scene: Scene) => Promise<void>
}
export interface Told<Name, Scene> {
  readonly title: string
  readonly scenarios: ReadonlyArray<Scenario<Name, Scene>>
  readonly sceneOf: (n: Name, by: Answering, looks: Array<Look>) => Scene
  /** Final state without values that differ by runtime and time. */
  readonly endOf: (ask: Ask) => Promise<ReadonlyArray<string>>
  /** Requests to the server before the scenario. */
  readonly prepare?: (ask: Ask) => Promise<void>
  /** Also runs on the command line, offline, where both engines are tested. */
  readonly typed?: boolean
  /** Also runs on both engines in the short tests, and on a device of a server on Postgres. */
  readonly everywhere?: boolean
  /** Start time of every scenario; default: the real clock. */
  readonly now?: string
}

/** Sets the clock of server and device; timers continue. */
export const itIs = (now: string): void => {
  if (!vi.isFakeTimers()) vi.useFakeTimers({ toFake: ["Date"] })
  vi.setSystemTime(Date.parse(now))
}

const askAt =
  (url: string, token: string | null): Ask =>
  async (method, path, body) => {
    const response = await fetch(url + path, {
      method,
      headers: {
        "content-type": "application/json",
        "accept-encoding": "identity",
        ...(token === null ? {} : { authorization: `Bearer ${token}` })
      },
      ...(method === "GET" || body === undefined ? {} : { body: JSON.stringify(body) })
    })
    const text = await response.text()
    return { status: response.status, body: text === "" ? undefined : JSON.parse(text) }
  }
/** A listening server, with access to its database. */
const open = async (engine: Engine, { now, prepare }: Pick<Told<unknown, unknown>, "now" | "prepare">) => {
  if (now !== undefined) itIs(now)
  const server = await serve(engine)
  const listening = await openListener(server.app.answer)
  const ask = askAt(listening.url, owner_token)
  await prepare?.(ask)
  const settled: Settled = { ask, held: (opportunity_id) => server.run(piecesHeld(opportunity_id)) }
  const close = async (): Promise<void> => {
    await listening.stop(1_000)
    await server.close()
    vi.useRealTimers()
  }
  return { server, url: listening.url, settled, close }
}
let people = 0
const somebodyAt = (url: string, ask: Ask): NonNullable<Answering["somebody"]> => {
  return async (permissions, abilities) => {
    const name = `Somebody ${++people}`
    expect((await ask("POST", "/api/v1/roles", { name, permissions })).status).toBe(201)
    const {
      body: { user }
    } = await ask("POST", "/api/v1/users", {
      name,
      email: `somebody${people}@example.com`,
      roles: [name],
      active: true
    })
    const { body } = await ask("POST", "/api/v1/tokens", { name, abilities, user_id: user.id })
    return askAt(url, body.secret ?? body.token.secret ?? body.token.token)
  }
}
const onDevice =
  (device: () => Device): Ask =>
  async (method, path, body) => {
    const [bare = path, query = ""] = path.split("?")
    const { body: answer, status } = await device().ask({
      method,
      path: bare,
      query: [...new URLSearchParams(query)],
      body: body as Json | undefined
    })
    // The response as sent over the network.
    const text = answer === undefined ? "" : JSON.stringify(answer)
    const got = {
      status,
      headers: { "content-type": "application/json" },
      text,
      body: text === "" ? undefined : JSON.parse(text)
    }
    const wrong = answerProblem(catalogue, method, path, got, { headers: false })
    if (wrong !== undefined) throw new Error(`Not as described, on a device: ${wrong}`)
    return { status, body: got.body }
  }

/**
 * Runs all scenarios over HTTP; where both engines are tested, also on the other engine, on a device that syncs after
 * each, and on the command line offline, and compares the final states.
 */
export const playEverywhere = <Name extends string | number, Scene>(told: Told<Name, Scene>): void => {
  const cases = told.scenarios.map((one) => [one.n, one.title, one] as const)
  const isPlayedOnBoth = told.everywhere === true || engines.length > 1
  const played = isPlayedOnBoth ? both_engines : engines
  /** Final state over HTTP on the first engine, to which the others are compared. */
  let end: ReadonlyArray<string> | undefined
  const expectSameEnd = (other: ReadonlyArray<string>): void => {
    if (end === undefined)
      expect.fail(`Run "${told.title} over HTTP on ${played[0]}" as well: this compares with its end.`)
    expect(other).toEqual(end)
  }
  const statuses = new Map<Name, Statuses>()
  const eachBegins = (): void =>
    beforeEach(() => {
      if (told.now !== undefined) itIs(told.now)
    })

  describe.each(played)(`${told.title} over HTTP on %s`, (engine) => {
    let place: Awaited<ReturnType<typeof open>>
    beforeAll(async () => {
      place = await open(engine, told)
    })
    eachBegins()
    afterAll(() => place.close())

    it.each(cases)("scenario %s: %s", async (n, _title, { run }) => {
      const looks: Array<Look> = []
      statuses.set(n, [])
      const ask = keeping(place.settled.ask, statuses.get(n)!)
      await run(
        told.sceneOf(
          n,
          { ask, somebody: somebodyAt(place.url, place.settled.ask), nobody: askAt(place.url, null) },
          looks
        )
      )
      for (const look of looks) await look(place.settled)
    })
    it("the scenarios leave tables that a rebuild from the journal reproduces", async () => {
      const own = await told.endOf(place.settled.ask)
      end ??= own
      expectSameEnd(own)
      const before = await place.server.run(dumpTables)
      await place.server.run(rebuild(catalogue))
      expect(await place.server.run(dumpTables)).toEqual(before)
    })
  })

  if (!isPlayedOnBoth) return
  // The sync tests cover devices that fill and sync from Postgres; here only the `everywhere` family does.
  const servers = both_engines.filter((engine) => (engine === "pg" ? told.everywhere === true : engines.length > 1))
  describe.each(servers)(`${told.title} on a device cut off from its server on %s`, (engine) => {
    let place: Awaited<ReturnType<typeof open>>, folder: string, device: Device
    beforeAll(async () => {
      place = await open(engine, told)
      folder = mkdtempSync(join(tmpdir(), "flightcase-scenarios-"))
      device = await enrolDevice(join(folder, "van"), {
        name: "van",
        url: place.url,
        token: owner_token,
        device: "van"
      })
    })
    eachBegins()
    afterAll(async () => {
      await device.close()
      await place.close()
      rmSync(folder, { recursive: true, force: true })
    })

    it.each(cases)("scenario %s: %s", async (n, _title, { run }) => {
      const looks: Array<Look> = []
      await run(told.sceneOf(n, { ask: onDevice(() => device), somebody: undefined, nobody: undefined }, looks))
      expect(await device.sync()).toMatchObject({ rejected: 0, pending: 0, conflicts: 0 })
      for (const look of looks) await look(place.settled)
    })
    it("the scenarios leave the same rows on server and device as work at the server", async () => {
      const runtime = ManagedRuntime.make(
        Layer.provide(Store.layer, sqliteLayer({ path: join(folder, "van", "replica.sqlite") }))
      )
      try {
        expect(await runtime.runPromise(dumpTables)).toEqual(await place.server.run(dumpTables))
      } finally {
        await runtime.dispose()
      }
      expectSameEnd(await told.endOf(place.settled.ask))
    })
  })

  if (told.typed === true && engines.length > 1)
    describe(`${told.title} typed offline`, () => {
      let place: Awaited<ReturnType<typeof open>>, cli: CommandLine
      beforeAll(async () => {
        place = await open("sqlite", told)
        cli = openCommandLine()
        expect(await cli.type(["login", place.url, "--token", owner_token, "--name", "desk"])).toMatchObject({
          code: 0
        })
      })
      eachBegins()
      afterAll(async () => {
        cli.close()
        await place.close()
      })

      it.each(cases)("scenario %s: %s", async (n, _title, { run }) => {
        const looks: Array<Look> = []
        await run(
          told.sceneOf(n, { ask: typed(cli, statuses.get(n) ?? []), somebody: undefined, nobody: undefined }, looks)
        )
        const synced = await cli.type(["sync", "--json"])
        expect(synced.code, synced.err).toBe(0)
        expect(JSON.parse(synced.out).sync).toMatchObject({ rejected: 0, pending: 0, conflicts: 0 })
        for (const look of looks) await look(place.settled)
      })
      it("the scenarios leave the same rows on server and replica as work at the server", async () => {
        const runtime = ManagedRuntime.make(
          Layer.provide(Store.layer, sqliteLayer({ path: join(cli.home, "profiles", "default", "replica.sqlite") }))
        )
        try {
          expect(await runtime.runPromise(dumpTables)).toEqual(await place.server.run(dumpTables))
        } finally {
          await runtime.dispose()
        }
        expectSameEnd(await told.endOf(place.settled.ask))
      })
    })
}
