import { afterAll, beforeAll, describe, it, vi } from "vitest"
import { serve, type Serving } from "../server/serving.ts"
import {
  creditsAgainstRefunds,
  type Desk,
  deskAt,
  issuesAgainstVoids,
  numbersWithoutHoles,
  paysTwice
} from "./invoice-races.ts"

vi.setConfig({ testTimeout: 600_000 })
const rounds = 100

describe("several people at one invoice on pg, a hundred times", () => {
  let server: Serving, desk: Desk
  beforeAll(async () => {
    server = await serve("pg")
    desk = await deskAt(server)
  })
  afterAll(() => server.close())
  const again = (race: (desk: Desk) => Promise<void>) => async () => {
    for (let round = 0; round < rounds; round++) await race(desk)
  }

  it("two full payments: one is taken, one refused", again(paysTwice))
  it("a voided invoice was not paid, and a paid one is not voided", again(issuesAgainstVoids))
  it("what is credited and refunded at once is neither refunded nor credited twice", again(creditsAgainstRefunds))
  it("sixteen issue and credit at once: numbers are 1 to n in the order of issue", () =>
    numbersWithoutHoles(server, desk, 12))
})
