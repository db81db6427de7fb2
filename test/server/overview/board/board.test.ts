/** Boards: who creates them, what they show, and when they end. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { boardUrl } from "../../../../server/overview/board/page.ts"
import { engines } from "../../../app.ts"
import { openSharing, type Sharing } from "../../documents/papers/links.ts"
import { tests_key } from "../../serving.ts"

describe.each(engines)("a board on %s", (engine) => {
  let house: Sharing
  beforeAll(async () => {
    house = await openSharing(engine)
  }, 60_000)
  afterAll(() => house.close())

  const made = async (json: object = { name: "Warehouse" }) => (await house.did(201, "POST", "/boards", json)).board
  const at = (url: string): string => new URL(url).pathname

  it("is created with an address, listed, and shown to anyone with the address", async () => {
    const board = await made({ name: "Warehouse", store_id: 1 })
    expect(board).toMatchObject({ name: "Warehouse", store_id: 1, shows_money: false })
    expect((await house.did(200, "GET", "/boards")).boards).toContainEqual(board)
    const page = await house.ask(at(board.url))
    expect(page.status).toBe(200)
    expect(page.headers["content-type"]).toContain("text/html")
    expect(page.text).toContain("Nothing to do.")
    expect(page.headers["content-security-policy"]).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; img-src data:; script-src 'nonce-[^']+'; connect-src 'self'/
    )
    expect(page.text).not.toMatch(/ on\w+=|style="|https?:\/\//)
  })
  it("shows an allocated unit in quarantine as one to replace, instead of packing progress, in an order due out today", async () => {
    const { id: item_id, units } = await house.units(1, 1, { name: "Arri" })
    const from = Date.now()
    const dates = { starts_at: new Date(from).toISOString(), ends_at: new Date(from + 40 * 3_600_000).toISOString() }
    const { id, items } = await house.withLine({ subject: "Fest", ...dates }, { item_id, name: "Arri", quantity: 1 })
    await house.confirm(id)
    await house.create(`/opportunities/${id}/items/${items[0].id}/assets`, { stock_level_id: units[0] })
    const { url } = await made()
    expect((await house.ask(at(url))).text).toContain("0 of 1 packed")
    await house.did(200, "POST", `/stock_levels/${units[0]}/quarantine`, { reason: "Hums" })
    const { text } = await house.ask(at(url))
    expect(text).toContain("<em>1 to replace</em>")
    expect(text).not.toContain("0 of 1 packed")
  })
  it("shows an order due out once, marked as late and short", async () => {
    const { id: item_id } = await house.units(1, 1, { name: "Robe" })
    const order = async (subject: string, hours: number) => {
      const at = (more: number) => new Date(Date.now() + (hours + more) * 3_600_000).toISOString()
      const dates = { starts_at: at(0), ends_at: at(40) }
      const { id } = await house.withLine({ subject, ...dates }, { item_id, name: "Robe", quantity: 3 })
      await house.confirm(id)
    }
    await order("Harbour festival", -1)
    await order("Congress", 60)
    const { url } = await made()
    const { text } = await house.ask(at(url))
    const rows = [...text.matchAll(/<li.*?<\/li>/g)].map(([row]) => row)
    expect(rows.filter((row) => row.includes("Harbour festival"))).toEqual([
      expect.stringMatching(/<em>0 of 3 packed<\/em><small>late, short<\/small>/)
    ])
    expect(rows.filter((row) => row.includes("Congress"))).toHaveLength(1)
    expect(text).toContain("<h2>Also short")
  })
  it("has an address unlike any other server's board, even one with the same key and id", async () => {
    const board = await made()
    const unmarked = (mark: string | null) => at(boardUrl("http://x", tests_key, { id: board.id, address_no: 1, mark }))
    for (const mark of [null, "another"]) expect((await house.ask(unmarked(mark))).status).toBe(403)
    // Boards of earlier releases have no mark.
    await house.sql(`update boards set mark = null where id = ${board.id}`)
    expect((await house.ask(unmarked(null))).status).toBe(200)
    expect((await house.ask(at(board.url))).status).toBe(403)
  })
  it("answers 403 at altered addresses, and once it is removed", async () => {
    const board = await made()
    const path = at(board.url)
    for (const other of [
      `${path}x`,
      path.slice(0, -1),
      path.replace(/-[\w-]{43}$/, (signature) => `-${signature.at(1) === "A" ? "B" : "A"}${signature.slice(2)}`),
      path.replace(/\d+-/, "99-"),
      path.replace(/-1-/, "-2-"),
      path.replace(/board\/(\d+)-1-/, "board/$1-01-"),
      "/board/1",
      "/board/1-1-",
      `/board/1-1-${"A".repeat(43)}`
    ])
      expect((await house.ask(other)).status, other).toBe(403)
    await house.did(204, "DELETE", `/boards/${board.id}`)
    expect((await house.ask(path)).status).toBe(403)
    expect((await house.ask(`${path}/stream`)).status).toBe(403)
  })
  it("ends when its creator is deactivated", async () => {
    const board = await made()
    expect((await house.ask(at(board.url))).status).toBe(200)
    await house.sql("update users set is_active = false where id = 1")
    expect((await house.ask(at(board.url))).status).toBe(403)
    await house.sql("update users set is_active = true where id = 1")
  })
  it("takes its theme from the address, and ignores an unknown one", async () => {
    const { url } = await made()
    expect((await house.ask(`${at(url)}?theme=dark`)).text).toContain('data-theme="dark"')
    expect((await house.ask(`${at(url)}?theme="><script>`)).text).toMatch(/^<!doctype html><html lang="en"><head>/)
  })
  it("is logged when created, readdressed and removed, without its address", async () => {
    const board = await made({ name: "Logged", store_id: 1 })
    await house.did(200, "POST", `/boards/${board.id}/rotate`)
    await house.did(204, "DELETE", `/boards/${board.id}`)
    const { actions } = await house.did(
      200,
      "GET",
      `/actions?q[auditable_type_eq]=board&q[auditable_id_eq]=${board.id}`
    )
    expect(actions.map(({ action, user_id }) => [action, user_id])).toEqual([
      ["board.deleted", 1],
      ["board.address_changed", 1],
      ["board.created", 1]
    ])
    expect(actions[2].new_values).toEqual({
      id: board.id,
      name: "Logged",
      store_id: 1,
      shows_money: false,
      expires_at: null,
      user_id: 1
    })
    expect(JSON.stringify(actions)).not.toContain(at(board.url).slice(-43))
  })
  it("gets a new address, and the previous one shows that the board has ended", async () => {
    const before = await made()
    const { board } = await house.did(200, "POST", `/boards/${before.id}/rotate`)
    expect(board.url).not.toBe(before.url)
    expect(board).toEqual({ ...before, url: board.url })
    const ended = await house.ask(at(before.url))
    expect(ended.status).toBe(403)
    expect(ended.headers["content-type"]).toContain("text/html")
    expect(ended.text).toContain("This board has ended.")
    expect(ended.text).not.toContain("<script")
    expect((await house.ask(at(board.url))).status).toBe(200)
  })
  it("ends at the given time, which must be in the future", async () => {
    const refused = await house.did(422, "POST", "/boards", { name: "Past", expires_at: "2020-01-01T00:00:00Z" })
    expect(refused.errors).toHaveProperty("expires_at")
    const board = await made({ name: "Fair", expires_at: "2150-01-01T00:00:00Z" })
    expect(board.expires_at).toBe("2150-01-01T00:00:00.000Z")
    expect((await house.ask(at(board.url))).status).toBe(200)
    await house.sql(`update boards set expires_at = '2020-01-01T00:00:00.000Z' where id = ${board.id}`)
    expect((await house.ask(at(board.url))).status).toBe(403)
  })
  const colleague = async (roles: ReadonlyArray<string>, abilities: ReadonlyArray<string> = ["*"]) => {
    const { secret, user_id } = await house.person({ roles, abilities })
    return { user_id, asks: (method: string, path: string, json?: object) => house.asks(method, path, json, secret) }
  }
  it("is private to its creator and users who manage users", async () => {
    const board = await made({ name: "The owner's" })
    const warehouse = await colleague(["Warehouse"])
    const own = await warehouse.asks("POST", "/boards", { name: "Dock" })
    expect(own.status, own.text).toBe(201)
    expect((await warehouse.asks("GET", "/boards")).body.boards).toEqual([own.body.board])
    for (const [method, path] of [
      ["DELETE", `/boards/${board.id}`],
      ["POST", `/boards/${board.id}/rotate`]
    ] as const)
      expect((await warehouse.asks(method, path)).status, method).toBe(403)
    const told = (await house.did(200, "GET", "/boards")).boards.find(({ id }: any) => id === own.body.board.id)
    expect(told).toEqual({ ...own.body.board, url: "" })
    const rotated = await house.did(200, "POST", `/boards/${own.body.board.id}/rotate`)
    expect(rotated.board.url).toBe("")
    expect((await house.ask(at(own.body.board.url))).status).toBe(403)
    await house.did(204, "DELETE", `/boards/${own.body.board.id}`)
  })
  it("is refused to users and tokens without the rights to what it shows, and ends when its creator loses them", async () => {
    const warehouse = await colleague(["Warehouse"])
    expect((await warehouse.asks("POST", "/boards", { name: "Money", shows_money: true })).status).toBe(403)
    const narrow = await colleague(["Admin"], ["boards:write"])
    expect((await narrow.asks("POST", "/boards", { name: "More than its token" })).status).toBe(403)
    const nobody = await colleague([])
    expect((await nobody.asks("POST", "/boards", { name: "Nothing" })).status).toBe(403)
    const reader = await colleague(["Read Only"])
    expect((await reader.asks("POST", "/boards", { name: "For everybody" })).status).toBe(403)
    const board = (await warehouse.asks("POST", "/boards", { name: "Dock" })).body.board
    expect((await house.ask(at(board.url))).status).toBe(200)
    await house.did(200, "PUT", `/users/${warehouse.user_id}`, { roles: [] })
    expect((await house.ask(at(board.url))).status).toBe(403)
  })
  it("is refused to a user who already has a hundred boards", async () => {
    const sales = await colleague(["Sales"])
    for (let n = 0; n < 100; n++) expect((await sales.asks("POST", "/boards", { name: `Board ${n}` })).status).toBe(201)
    const refused = await sales.asks("POST", "/boards", { name: "One more" })
    expect(refused.status).toBe(422)
    expect(refused.body.errors.name[0]).toContain("Delete one")
  })
  it("requires a name within limits, and an existing store and a valid end if given", async () => {
    for (const [json, field] of [
      [{}, "name"],
      [{ name: "x".repeat(101) }, "name"],
      [{ name: "x", store_id: 4711 }, "store_id"],
      [{ name: "x", expires_at: "soon" }, "expires_at"]
    ] as const)
      expect((await house.did(422, "POST", "/boards", json)).errors, JSON.stringify(json)).toHaveProperty(field)
  })
})
