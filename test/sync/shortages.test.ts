/** What a device says of shortages: in all places the same, without a network, and what the server says once synced. */
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import type { Viewer } from "../../core/kernel/viewer.ts"
import type { Device } from "../../sync/device/device.ts"
import { type App, engines, type Reply } from "../app.ts"
import { opportunity_path, opportunityFixture, type OpportunityFixture } from "../core/opportunities/fixtures.ts"
import {
  answersOf,
  buildWorld,
  byLine,
  type Choose,
  randomFrom,
  step,
  windowOf
} from "../core/opportunities/shortages/worlds.ts"
import { type DeviceTestServer, openDeviceTestServer } from "./server.ts"

vi.setConfig({ testTimeout: 300_000 })

type Call = (method: string, path: string, body?: any, viewer?: Viewer) => Promise<Reply>
/** The requests of worlds, answered by whoever is asked. */
const askedOf = (call: Call): OpportunityFixture => opportunityFixture({ call } as App)

describe.each(engines)("shortages on a device of a server on %s", (engine) => {
  let grounds: DeviceTestServer, device: Device, there: OpportunityFixture, here: OpportunityFixture
  beforeAll(async () => {
    grounds = await openDeviceTestServer(engine)
    device = await grounds.enrol("counter")
    there = askedOf(async (method, path, body) => ({ ...(await grounds.ask(method, path, body)), headers: {} }))
    here = askedOf(async (method, path, body) => {
      const [bare = "", search = ""] = path.split("?")
      const query = [...new URLSearchParams(search)]
      const answer = await device.ask({ method, path: bare, query, body })
      return { status: answer.status, body: answer.body, headers: {} }
    })
  })
  afterAll(() => grounds.close())

  const all_path = "/api/v1/shortages?from=2026-06-01&to=2026-08-01&per_page=200"
  /** Everything that is said of these opportunities, by whom it is said. */
  const said = async (w: OpportunityFixture, deals: ReadonlyArray<number>) => {
    const { shortages: all } = (await w.get(all_path)).body
    const answers = []
    for (const id of deals) {
      if ((await w.get(`${opportunity_path}/${id}`)).status === 404) continue
      const { free, ...one } = await answersOf(w, id, all)
      const { to_replace } = (await w.get(`${opportunity_path}/${id}/shortages`)).body
      answers.push({ id, ...one, free, to_replace })
    }
    return answers
  }

  it.each(engine === "sqlite" ? [205, 211] : [204])("is one answer after every step of world %i", async (seed) => {
    const random = randomFrom(seed)
    const choose: Choose = (choices) => choices[Math.floor(random() * choices.length)]!
    const world = await buildWorld(there)
    for (let made = 0; made < 4; made++) world.deals.push((await there.opportunity(windowOf(choose))).id)
    await device.sync()
    let short = 0
    for (let count = 0; count < 30; count++) {
      // Somebody at the server, or this device without a network.
      const is_here = choose([true, true, false])
      const did = await step(is_here ? here : there, world, choose)
      for (const one of is_here ? await said(here, world.deals) : []) {
        expect(one.flag, did).toBe(one.is_short)
        expect(one.swept.toSorted(byLine), did).toEqual(one.own.toSorted(byLine))
        expect(one.free, did).toEqual(one.of_lines)
      }
      if (count % 5 !== 4) continue
      await device.sync()
      for (const conflict of await device.conflicts()) await device.resolve(conflict.id, { drop: true })
      await device.sync()
      const truth = await said(there, world.deals)
      expect(await said(here, world.deals), did).toEqual(truth)
      short += truth.flatMap(({ own }) => own).length
    }
    expect(short).toBeGreaterThan(0)
  })
})
