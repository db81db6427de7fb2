import { describe, expect, it } from "vitest"
import { placeOfSuite } from "./place.ts"
import { openPlace, play, run, runHere, sessions, wordsOf } from "./session.ts"

describe("sessions at the command line", () => {
  it.each(sessions)("each command prints what the script says, $file: $title", async ({ text }) => {
    const place = await openPlace()
    try {
      await play(place, text, runHere)
    } finally {
      await place.close()
    }
  })
})

describe("the runner of session scripts", () => {
  const place = placeOfSuite()

  it("splits words like a shell", () => {
    const line = `products create --name "MAC \\"Aura\\"" --sku 'A B' c\\ d x="y z"`
    const words = ["products", "create", "--name", 'MAC "Aura"', "--sku", "A B", "c d", "x=y z"]
    expect(wordsOf(line)).toEqual(words)
  })
  it("fails on other output, another exit code or a missing line on standard error", async () => {
    await expect(play(place, "$ --version\nflightcase 9.9.9", run)).rejects.toThrow("standard output differs")
    await expect(play(place, "$ --version\nflightcase *\n? 3", run)).rejects.toThrow("exit code 0, expected 3")
    await expect(play(place, "$ --version\nflightcase *\n! nothing of the kind", run)).rejects.toThrow(
      "standard error does not say"
    )
    await expect(play(place, "$ stores list --json\n= meta.total 7", run)).rejects.toThrow("meta.total is 1")
  })
  it("gets no text on standard output from refused commands", async () => {
    const refused = await run(place, ["products", "show", "NO-SUCH-SKU"])
    expect(refused).toMatchObject({ code: 3, out: "" })
    const wrong = await run(place, ["products", "create", "--name", "x", "--weight", "heavy", "--json"])
    expect(wrong).toMatchObject({ code: 5, out: "" })
    expect(JSON.parse(wrong.err)).toMatchObject({
      message: expect.any(String),
      errors: { weight: [expect.any(String)] }
    })
  })
})
