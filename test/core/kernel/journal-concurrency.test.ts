import { setTimeout as pause } from "node:timers/promises"
import { afterEach, beforeEach, expect, it } from "vitest"
import { Effect } from "effect"
import { eventsAfter, lastPosition, journal } from "../../../core/kernel/events/journal.ts"
import type { StoredEvent } from "../../../core/kernel/events/event-type.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { openShopAt, type Place, placeOn, type Shop } from "./lamp-shop.ts"

const writers_max = 8
let place: Place
let shops: ReadonlyArray<Shop>
/** Each shop has its own pool, runtime and store, as separate processes would. */
beforeEach(async () => {
  place = await placeOn("pg")
  const first = await openShopAt(place)
  shops = [first, ...(await Promise.all(Array.from({ length: writers_max }, () => openShopAt(place))))]
})
afterEach(async () => {
  await Promise.all(shops.map((shop) => shop.close()))
  await place.gone()
})
const reader = (): Shop => shops[0]!
const writer = (index: number): Shop => shops[index + 1]!
const lamp = async (body: object = {}): Promise<number> =>
  (await reader().call("POST", "/api/v1/lamps", { name: "Lamp", ...body })).body.lamp.id
const pageAfter = (position: number, limit: number) =>
  reader().run(Effect.flatMap(Store, (store) => eventsAfter(store, position, limit)))
const chance = (max: number): number => Math.floor(Math.random() * (max + 1))

it("a reader that follows positions sees every event of eight writers, and each stream's versions in order", async () => {
  const lamps = await Promise.all(Array.from({ length: 4 }, () => lamp()))
  const seen: Array<StoredEvent> = []
  let writing = true
  const follow = async (): Promise<void> => {
    for (let last = false; ;) {
      const page = await pageAfter(seen.at(-1)?.position ?? 0, 1 + chance(6))
      seen.push(...page)
      if (page.length > 0) continue
      // One more read after the last commit, then all events must have been seen.
      if (last) return
      last = !writing
      if (!last) await pause(chance(2))
    }
  }
  const write = async (index: number): Promise<void> => {
    for (let at = 0; at < 25; at++) {
      const [one, other] = [lamps[chance(3)]!, lamps[chance(3)]!]
      const kind = chance(4)
      const made =
        kind === 0
          ? await writer(index).call("POST", "/api/v1/lamps/many", { count: 1 + chance(5) })
          : kind === 1
            ? await writer(index).call("POST", `/api/v1/lamps/${one}/number`, {})
            : await writer(index).call("POST", `/api/v1/lamps/${one}/touch`, {
                other_id: other,
                delay: chance(6),
                locked: kind !== 2
              })
      expect(made.status).toBe(200)
    }
  }
  const following = follow()
  await Promise.all(Array.from({ length: writers_max }, (_, index) => write(index)))
  writing = false
  await following

  const [all, head] = await reader().run(
    Effect.flatMap(Store, (store) => Effect.all([store.find(journal, {}), lastPosition(store)]))
  )
  expect(all.length).toBeGreaterThan(200)
  expect(seen.map((event) => event.position)).toEqual(all.map((event) => event.position))
  expect(seen).toEqual(all)
  expect(all.map((event) => event.position)).toEqual(Array.from({ length: head }, (_, at) => at + 1))
  const versions = new Map<string, number>()
  for (const { stream, version } of seen) {
    expect([stream, version]).toEqual([stream, (versions.get(stream) ?? 0) + 1])
    versions.set(stream, version)
  }
  const tables = await reader().dump()
  await reader().rebuild()
  expect(await reader().dump()).toEqual(tables)
})

it("document numbers drawn by eight writers have no gap and no duplicate", async () => {
  const id = await lamp()
  const numbers = await Promise.all(
    Array.from(
      { length: writers_max * 4 },
      async (_, at) =>
        (await writer(at % writers_max).call("POST", `/api/v1/lamps/${id}/number`, { refuse: at % 3 === 0 })).body
          .number as number | undefined
    )
  )
  const given = numbers.filter((number) => number !== undefined).sort((a, b) => a - b)
  expect(given).toEqual(Array.from({ length: given.length }, (_, at) => at + 1))
  expect(given.length).toBe(numbers.filter((_, at) => at % 3 !== 0).length)
})

it("exactly one of many concurrent claims of an asset number succeeds; the others are rejected at the field", async () => {
  for (const asset_number of ["A-1", "A-2", "A-3"]) {
    const replies = await Promise.all(
      Array.from({ length: writers_max }, (_, index) =>
        writer(index).call("POST", "/api/v1/lamps", { name: `Of ${index}`, asset_number })
      )
    )
    expect(replies.map((reply) => reply.status).sort()).toEqual([
      201,
      ...Array.from({ length: writers_max - 1 }, () => 422)
    ])
    for (const { status, body } of replies)
      if (status === 422) expect(body.errors).toEqual({ asset_number: ["The asset number has already been taken."] })
  }
})

it("exactly one of eight concurrent bookings of overlapping windows succeeds, and all of adjacent windows", async () => {
  const id = await lamp()
  const snapshot = (index: number, from: string, to: string) =>
    writer(index).call("POST", `/api/v1/lamps/${id}/book`, {
      starts_at: `2026-07-${from}`,
      ends_at: `2026-07-${to}`,
      delay: chance(10)
    })
  const demands = await Promise.all(
    Array.from({ length: writers_max }, (_, index) => snapshot(index, "10", `1${1 + (index % 5)}`))
  )
  expect(demands.map((demand) => demand.status).sort()).toEqual([
    200,
    ...Array.from({ length: writers_max - 1 }, () => 422)
  ])
  for (const { status, body } of demands) if (status === 422) expect(Object.keys(body.errors)).toEqual(["base"])
  const side_by_side = await Promise.all(
    Array.from({ length: writers_max }, (_, index) => snapshot(index, String(20 + index), String(21 + index)))
  )
  expect(side_by_side.map((demand) => demand.status)).toEqual(Array.from({ length: writers_max }, () => 200))
  expect((await reader().dump())["bookings"]).toHaveLength(1 + writers_max)
})

it("writers that lock the same streams in opposite order do not deadlock", async () => {
  const [one, other] = [await lamp(), await lamp()]
  const replies = await Promise.all(
    Array.from({ length: writers_max * 3 }, (_, at) =>
      writer(at % writers_max).call("POST", `/api/v1/lamps/${at % 2 === 0 ? one : other}/touch`, {
        other_id: at % 2 === 0 ? other : one,
        delay: chance(5)
      })
    )
  )
  expect(replies.map((reply) => reply.status)).toEqual(replies.map(() => 200))
})
