/** What a person agreed to is undone, and nothing else, whatever happened while they thought about it. */
import { describe, expect, it } from "vitest"
import type { UndoRequest } from "../../core/undo/compensation.ts"
import type { UndoPlan } from "../../sync/device/undo/undo.ts"
import { neededBy } from "../../sync/device/undo/tried.ts"
import { businessOfEachTest } from "./business.ts"
import type { Filled } from "./filling.ts"
import { undoOf } from "./undoing.ts"

describe("an undo that a person has agreed to", () => {
  const { filled, make } = businessOfEachTest("sqlite")
  const planned = async (device: Filled): Promise<UndoPlan> => {
    const result = await undoOf(device).plan(undefined)
    return result.ok ? result.plan : expect.fail(JSON.stringify(result))
  }

  it("takes back what it was about, not what was recorded since", async () => {
    const device = await filled()
    await device.ask("POST", "products", { name: "Lamp" })
    const plan = await planned(device)
    await device.ask("POST", "products", { name: "Torch" })
    expect(await undoOf(device).undo(undefined, true, plan)).toMatchObject({ ok: true, plan: { steps: [{ n: 1 }] } })
    expect(device.outbox.pending().map(({ n }) => n)).toEqual([2])
  })
  it("takes nothing back where more would go with it by now, or it was sent meanwhile", async () => {
    const device = await filled()
    const { id } = (await device.ask("POST", "products", { name: "Lamp" })).body.product
    const plan = await planned(device)
    await device.ask("PUT", `products/${id}`, { name: "Torch" })
    const changed = { ok: false, failure: { kind: "changed" } }
    expect(await undoOf(device).undo(undefined, true, plan)).toMatchObject(changed)
    expect(device.outbox.pending().length).toBe(2)

    const { id: other } = await make("products", { name: "Case" })
    await device.sync()
    await device.ask("PUT", `products/${other}`, { name: "Rack" })
    const unsent = await planned(device)
    await device.sync()
    expect(await undoOf(device).undo(undefined, true, unsent)).toMatchObject(changed)
    expect(device.outbox.pending()).toEqual([])
  })
})

describe("what the server decides of an undo without one of its parts", () => {
  it("is what does not build on it: a part that may be left out holds up none that may not", () => {
    const named = (name: string, otherwise?: string) => ({
      command: name,
      request: { name, params: {}, ...(otherwise === undefined ? {} : { otherwise }) } satisfies UndoRequest
    })
    const unit = named("unit")
    const pack = named("pack", "the case stays open")
    const [seal, release] = [named("seal", "the case stays open"), named("release")]
    expect(neededBy(unit.request, [])).toBeUndefined()
    expect(neededBy(pack.request, [unit])).toBe("unit")
    expect(neededBy(seal.request, [unit, pack])).toBe("pack")
    expect(neededBy(release.request, [unit, pack, seal])).toBe("unit")
  })
})
