/**
 * A restored server reuses ids that devices have used since. Commands sent or recorded again must not affect the rows
 * that now have them.
 */
import { beforeEach, describe, expect, it } from "vitest"
import { engines } from "../app.ts"
import { serverOfEachTest, type TestDevice, type TestServer } from "./opening.ts"
import { all_settled, backupOf, counts, retried } from "./restoring.ts"
import { share } from "../share.ts"

describe.each(share(engines))("after a server on %s was restored and leased ids again,", (engine) => {
  const server = serverOfEachTest(engine)
  const { show } = server
  let product_id: number
  beforeEach(async () => {
    product_id = await server.serialised()
  })
  const make = (at: Pick<TestDevice | TestServer, "create">, asset_number: string) =>
    at.create("/stock_levels", { product_id, store_id: 1, asset_number })
  const move = (device: TestDevice, { id }: { readonly id: number }, location: string) =>
    device.must("PUT", `/stock_levels/${id}`, { location })
  const units = () => show("/stock_levels?per_page=100&sort=id")
  const atServer = async (asset_number: string) => (await units()).find((one) => one.asset_number === asset_number)!
  /** A unit created on the server with the id of another one that a device knows. */
  const theirsInsteadOf = async (own: { readonly id: number }) => {
    const theirs = await make(server, "THEIRS")
    expect(theirs.id).toBe(own.id)
    return theirs
  }
  /** A device whose next units get ids of a block that the backup lacks. */
  const beforeTheBackup = async () => {
    const van = await server.enrol()
    for (let at = 0; at < 26; at++) await make(van, `V-${at}`)
    const restore = await backupOf(server, engine)
    await van.sync()
    for (let at = 26; at < 50; at++) await make(van, `V-${at}`)
    await van.sync()
    expect(await counts(van)).toEqual(all_settled)
    return { van, restore }
  }

  it("a held command follows the row it depends on to its new id", async () => {
    const { restore, van } = await beforeTheBackup()
    await make(server, "TAKEN")
    const own = await make(van, "TAKEN")
    await move(van, own, "Van, shelf 3")
    await van.sync()
    expect(await counts(van)).toEqual({ pending: 0, conflicts: 1, held: 1 })
    await restore()
    const { id, location } = await theirsInsteadOf(own)
    await van.sync()
    expect(await counts(van)).toEqual({ pending: 0, conflicts: 1, held: 1 })
    await retried(van)
    await van.sync()
    expect(await counts(van)).toEqual(all_settled)
    expect(await atServer("THEIRS")).toMatchObject({ id, location })
    expect(await atServer("TAKEN")).toMatchObject({ location: "Van, shelf 3" })
    expect((await atServer("TAKEN")).id).not.toBe(own.id)
    await server.sameOn(van)
  })
  it("a command on a row is held until the row's creation is accepted again", async () => {
    const { restore, van } = await beforeTheBackup()
    const own = await make(van, "OWN")
    await van.sync()
    await move(van, own, "Sent before")
    await van.sync()
    await move(van, own, "Not sent yet")
    await restore()
    const { location } = await theirsInsteadOf(own)
    await van.sync()
    expect(await atServer("THEIRS")).toMatchObject({ location })
    expect(await counts(van)).toEqual({ pending: 0, conflicts: 1, held: 2 })
    await retried(van)
    await van.sync()
    expect(await counts(van)).toEqual(all_settled)
    expect([await atServer("THEIRS"), await atServer("OWN")]).toMatchObject([
      { location },
      { location: "Not sent yet" }
    ])
  })
  it("a command on a dropped row cannot be retried on the row that now has its id", async () => {
    const { restore, van } = await beforeTheBackup()
    const own = await make(van, "OWN")
    await move(van, own, "Van, shelf 3")
    await van.sync()
    await restore()
    const { location } = await theirsInsteadOf(own)
    await van.sync()
    const [making] = await van.conflicts()
    await van.resolve(making!.id, { drop: true })
    const [left] = await van.conflicts()
    const error = { message: expect.stringContaining("was dropped") }
    expect(left).toMatchObject({ name: "stock_levels.update", error })
    expect(left!.ways_out.map((one) => one.way)).not.toContain("retry")
    const body = { message: expect.stringContaining("another one by now") }
    for (const how of [{ retry: true }, { amend: { location: "Elsewhere" } }] as const)
      expect(await van.resolve(left!.id, how)).toMatchObject({ status: 422, body })
    await van.sync()
    expect(await atServer("THEIRS")).toMatchObject({ location })
    expect((await van.resolve(left!.id, { drop: true })).status).toBe(200)
    expect(await counts(van)).toEqual(all_settled)
  })
  it("a held command's reference follows its row to the new id, unless the command is amended", async () => {
    const van = await server.enrol()
    const group = (at: Pick<TestDevice | TestServer, "create">, name: string) => at.create("/product_groups", { name })
    for (let at = 0; at < 26; at++) await group(van, `V ${at}`)
    const restore = await backupOf(server, engine)
    await van.sync()
    for (let at = 26; at < 50; at++) await group(van, `V ${at}`)
    const own = await group(van, "Own")
    await van.sync()
    for (const name of ["Lamp", "Stand"]) await van.product({ name, product_group_id: own.id })
    await van.sync()
    await restore()
    const theirs = await group(server, "Theirs")
    expect(theirs.id).toBe(own.id)
    await van.sync()
    expect(await counts(van)).toEqual({ pending: 0, conflicts: 1, held: 2 })
    const [lamp] = (await van.conflicts())[0]!.held
    // Given an existing group, it is sent.
    expect((await van.resolve(lamp!.id, { amend: { name: "Lamp", product_group_id: null } })).status).toBe(201)
    await retried(van)
    await van.sync()
    expect(await counts(van)).toEqual(all_settled)
    const anew = (await show("/product_groups?per_page=100")).find((one) => one.name === "Own")!
    expect(anew.id).not.toBe(theirs.id)
    const groups = new Map((await show("/products")).map((one) => [one.name, one.product_group_id]))
    expect([groups.get("Stand"), groups.get("Lamp")]).toEqual([anew.id, null])
  })
  it.each(["no commands", "an unsent command"])(
    "a device whose bundles carry %s sends its rows again and leaves others' rows unchanged",
    async (carried) => {
      const is_news = carried === "no commands"
      const { restore, van } = await beforeTheBackup()
      const own = await make(van, "OWN")
      await make(van, "OWN-2")
      await van.sync()
      const others = async () =>
        (await units())
          .filter((one) => !["OWN", "THEIRS"].includes(one.asset_number!))
          .map((one) => [one.id, one.asset_number])
      const before = await others()
      if (!is_news) await move(van, own, "Van, shelf 3")
      await restore()
      const theirs = await theirsInsteadOf(own)
      // The first round tells the device what the server lost, the second sends it.
      expect(await server.carry(van)).toMatchObject({ complete: false, accepted: 0 })
      // The user now sees the other row under the id, and means that one.
      if (is_news) await move(van, own, "As seen now")
      await server.carry(van)
      expect(await counts(van)).toEqual({ pending: 0, conflicts: 1, held: is_news ? 0 : 1 })
      const location = is_news ? "As seen now" : theirs.location
      expect(await atServer("THEIRS")).toMatchObject({ location })
      expect(await van.conflicts()).toMatchObject([{ name: "stock_levels.create" }])
      await retried(van)
      await server.carry(van)
      expect(await counts(van)).toEqual(all_settled)
      expect(await others()).toEqual(before)
      const own_location = is_news ? null : "Van, shelf 3"
      expect([await atServer("THEIRS"), await atServer("OWN")]).toMatchObject([
        { location },
        { location: own_location }
      ])
      // The next sync has nothing to send.
      expect(await van.sync()).toMatchObject({ sent: 0, rejected: 0, pending: 0 })
      await server.sameOn(van)
    }
  )
  it.each(["not sent yet", "accepted before"])(
    "a command on another's row, %s, is a conflict once its id belongs to a new row",
    async (sent) => {
      const van = await server.enrol()
      const restore = await backupOf(server, engine)
      const seen = await make(server, "SEEN")
      await van.sync()
      await move(van, seen, "Van, shelf 3")
      if (sent === "accepted before") expect(await van.sync()).toMatchObject({ accepted: 1 })
      await restore()
      const { location } = await theirsInsteadOf(seen)
      await van.sync()
      expect(await atServer("THEIRS")).toMatchObject({ location })
      expect(await counts(van)).toEqual({ pending: 0, conflicts: 1, held: 0 })
      const error = { status: 422, message: expect.stringContaining("may be another one by now") }
      expect(await van.conflicts()).toMatchObject([{ error }])
      // A user who has seen the row may confirm it.
      await retried(van, 200)
      await van.sync()
      expect(await atServer("THEIRS")).toMatchObject({ location: "Van, shelf 3" })
      expect(await counts(van)).toEqual(all_settled)
    }
  )
  it("a row sent again by its device keeps its id on other devices", async () => {
    const [van, shop] = [await server.enrol(), await server.enrol()]
    const restore = await backupOf(server, engine)
    const made = await make(shop, "SHOP")
    await shop.sync()
    await van.sync()
    await move(van, made, "Sent before")
    await van.sync()
    await move(van, made, "Not sent yet")
    await restore()
    for (const device of [shop, van]) {
      await device.sync()
      expect(await counts(device)).toEqual(all_settled)
    }
    expect(await atServer("SHOP")).toMatchObject({ id: made.id, location: "Not sent yet" })
  })
  it("a device gets its ids back after each restore of the same backup", async () => {
    const { restore, van } = await beforeTheBackup()
    await make(van, "OWN")
    await van.sync()
    const own = await atServer("OWN")
    for (let at = 0; at < 2; at++) {
      await restore()
      await van.sync()
      expect(await counts(van)).toEqual(all_settled)
      expect((await atServer("OWN")).id).toBe(own.id)
    }
    expect(await units()).toHaveLength(51)
  })
})
