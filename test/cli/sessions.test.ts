import { readdirSync, readFileSync } from "node:fs"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { openPlace, type Place, play, readSession, run, wordsOf } from "./session.ts"

const folder = new URL("./sessions/", import.meta.url)

describe("sessions at the command line", () => {
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".session")).sort()) {
    const text = readFileSync(new URL(file, folder), "utf8")
    it(`${file}: ${readSession(text).title}`, async () => {
      const place = await openPlace()
      try { await play(place, text) } finally { await place.close() }
    }, 600_000)
  }
})

describe("a session itself", () => {
  let place: Place
  beforeAll(async () => { place = await openPlace() })
  afterAll(async () => { await place.close() })

  it("parts words as a shell does", () => {
    expect(wordsOf(`products create --name "MAC \\"Aura\\"" --sku 'A B' c\\ d x="y z"`)).toEqual(["products", "create", "--name", "MAC \"Aura\"", "--sku", "A B", "c d", "x=y z"])
  })
  it("notices other output, another exit code and silence on standard error", async () => {
    await expect(play(place, "$ --version\nflightcase 9.9.9")).rejects.toThrow("standard output differs")
    await expect(play(place, "$ --version\nflightcase *\n? 3")).rejects.toThrow("exit code 0, expected 3")
    await expect(play(place, "$ --version\nflightcase *\n! nothing of the kind")).rejects.toThrow("standard error does not say")
    await expect(play(place, "$ stores list --json\n= meta.total 7")).rejects.toThrow("meta.total is 1")
  })
  it("says nothing but data on standard output", async () => {
    const refused = await run(place, ["products", "show", "NO-SUCH-SKU"])
    expect(refused).toMatchObject({ code: 3, out: "" })
    const wrong = await run(place, ["products", "create", "--name", "x", "--weight", "heavy", "--json"])
    expect(wrong).toMatchObject({ code: 5, out: "" })
    expect(JSON.parse(wrong.err)).toMatchObject({ message: expect.any(String), errors: { weight: [expect.any(String)] } })
  })
})
