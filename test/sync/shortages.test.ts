/** Shortages on a device: all endpoints agree offline, and equal the server's after a sync. */
import { beforeAll, describe, expect, it, vi } from "vitest"
import { engines } from "../app.ts"
import type { RentalHouse } from "../rental-house.ts"
import {
  answersOf,
  buildWorld,
  byLine,
  type Choose,
  randomFrom,
  step,
  windowOf
} from "../core/orders/opportunities/shortages/worlds.ts"
import { serverOfSuite, type TestDevice } from "./opening.ts"

vi.setConfig({ testTimeout: 300_000 })

describe.each(engines)("shortages on a device, server on %s,", (engine) => {
  const server = serverOfSuite(engine)
  let device: TestDevice
  beforeAll(async () => {
    device = await server.enrol()
  })
  /** Shortages of these opportunities, by endpoint. */
  const said = async (at: unknown, deals: ReadonlyArray<number>) => {
    const w = at as RentalHouse
    const all = await w.show("/shortages?from=2026-06-01&to=2026-08-01&per_page=200")
    const answers = []
    for (const id of deals) {
      if ((await w.get(`/opportunities/${id}`)).status === 404) continue
      const { to_replace } = (await w.get(`/opportunities/${id}/shortages`)).body
      answers.push({ id, ...(await answersOf(w, id, all)), to_replace })
    }
    return answers
  }

  it.each(engine === "sqlite" ? [205, 211] : [204])(
    "are the same in all its responses after each step, and on the server at every fifth step: seed %i",
    async (seed) => {
      const random = randomFrom(seed)
      const choose: Choose = (choices) => choices[Math.floor(random() * choices.length)]!
      const world = await buildWorld(server as unknown as RentalHouse)
      for (let made = 0; made < 4; made++) world.deals.push((await server.opportunity(windowOf(choose))).id)
      await device.sync()
      let short = 0
      for (let count = 0; count < 30; count++) {
        // By this device offline, or by a user at the server.
        const is_here = choose([true, true, false])
        const did = await step((is_here ? device : server) as unknown as RentalHouse, world, choose)
        for (const one of is_here ? await said(device, world.deals) : []) {
          expect(one.flag, did).toBe(one.is_short)
          expect(one.swept.toSorted(byLine), did).toEqual(one.own.toSorted(byLine))
          expect(one.free, did).toEqual(one.of_lines)
        }
        if (count % 5 !== 4) continue
        await device.sync()
        for (const conflict of await device.conflicts()) await device.resolve(conflict.id, { drop: true })
        await device.sync()
        const truth = await said(server, world.deals)
        expect(await said(device, world.deals), did).toEqual(truth)
        short += truth.flatMap(({ own }) => own).length
      }
      expect(short).toBeGreaterThan(0)
    }
  )
})
