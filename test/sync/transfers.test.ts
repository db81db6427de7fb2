/**
 * Transfers on devices: goods are dispatched at one dock and received at another, both offline, synced in any order
 * (rules/transfers 5).
 */
import { describe, expect, it } from "vitest"
import { engines } from "../app.ts"
import { randomOf } from "../sim/random.ts"
import { serverOfSuite, type TestDevice } from "./opening.ts"

describe.each(engines)("transfers on devices, with a server on %s", (engine) => {
  const server = serverOfSuite(engine)
  const { create } = server
  const soon = "2026-12-01T08:00:00Z"
  const move = (at: Pick<TestDevice, "must">, id: number, verb: string, codes: ReadonlyArray<string>) =>
    at.must("POST", `/transfers/${id}/${verb}`, { codes })
  /** Creates a transfer of units and 20 pieces of a bulk product; returns the codes of both. */
  const planned = async (many: number) => {
    const [from_store_id, to_store_id] = [await server.store(), await server.store()]
    const head = await server.serialised()
    const units: Array<number> = []
    const codes: Array<string> = []
    for (let at = 0; at < many; at++) {
      codes.push(`U${from_store_id}-${at}`)
      units.push(await server.unit(head, from_store_id, { asset_number: codes[at] }))
    }
    const sku = `CABLE-${from_store_id}`
    const cable = await server.bulk(from_store_id, 40, { sku })
    const items = [
      { product_id: head, quantity: many },
      { product_id: cable.id, quantity: 20 }
    ]
    const body = { from_store_id, to_store_id, starts_at: soon, ends_at: "2026-12-09T08:00:00Z", items }
    const { id } = await create("/transfers", body)
    return { id, codes, sku, units, cable, from_store_id, to_store_id }
  }

  const piecesIn = (found: ReadonlyArray<{ readonly items: ReadonlyArray<{ readonly quantity: number }> }>) =>
    found.flatMap(({ items }) => items).reduce((sum, { quantity }) => sum + quantity, 0)

  it.each([1, 2, 3, 4])("end alike whichever device syncs first: seed %i", async (seed) => {
    const random = randomOf(seed)
    const { cable, codes, id, sku, to_store_id, units } = await planned(4)
    const [sender, one, other] = [await server.enrol(), await server.enrol(), await server.enrol()]
    await move(sender, id, "send", [...codes, `${sku}*20`])
    await move(one, id, "receive", [codes[0]!, codes[1]!, `${sku}*12`])
    await move(other, id, "receive", [codes[1]!, codes[2]!, codes[3]!, `${sku}*8`])
    const waiting = new Set([sender, one, other])
    while (waiting.size > 0) {
      const device = random.pick([...waiting])
      waiting.delete(device)
      expect(await device.sync()).toMatchObject({ rejected: 0 })
    }
    const transfer = await server.show(`/transfers/${id}`)
    expect(transfer).toMatchObject({ status: "received", sent_at: expect.any(String) })
    for (const unit of units) expect((await server.show(`/stock_levels/${unit}`)).store_id).toBe(to_store_id)
    const held = await server.show(`/stock_levels?q[product_id_eq]=${cable.id}`)
    const quantities = held.map(({ quantity_held }) => quantity_held)
    expect(quantities.toSorted()).toEqual(["0.00", "20.00", "20.00"])
    const home = await server.show(`/transfers?q[return_of_transfer_id_eq]=${id}&include=items`)
    expect(piecesIn(home)).toBe(24)
    for (const device of [sender, one, other]) {
      await device.sync()
      await server.sameOn(device)
    }
  })

  it("report no difference where goods arrived before the device knew that they were sent", async () => {
    const { codes, id, sku } = await planned(2)
    const [sender, receiver] = [await server.enrol(), await server.enrol()]
    await move(sender, id, "send", [...codes, `${sku}*20`])
    await move(receiver, id, "receive", [...codes, `${sku}*20`])
    expect(await sender.sync()).toMatchObject({ accepted: 1, conflicts: 0 })
    expect(await receiver.sync()).toMatchObject({ accepted: 1, conflicts: 0 })
    await sender.sync()
    expect(sender.told(false)).toEqual([])
    expect(receiver.told(false)).toEqual([])
    await server.sameOn(receiver)
  })

  it("report goods that arrive after a cancellation as a conflict, with their codes", async () => {
    const { codes, id } = await planned(2)
    const device = await server.enrol()
    await move(device, id, "receive", codes)
    await server.must("POST", `/transfers/${id}/cancel`, {})
    expect((await device.sync()).rejected).toBe(1)
    const [conflict] = await device.conflicts()
    expect(conflict).toMatchObject({ payload: { body: { codes } } })
    expect(JSON.stringify(conflict)).toContain(`Transfer ${id} was cancelled at`)
    await device.resolve(conflict!.id, { drop: true })
    await server.sameOn(device)
  })
})
