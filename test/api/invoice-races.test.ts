import { afterAll, beforeAll, describe, it } from "vitest"
import { serve, type Serving } from "../server/serving.ts"
import {
  creditsAgainstRefunds,
  type Desk,
  deskAt,
  issuesAgainstVoids,
  numbersWithoutHoles,
  paysTwice
} from "./invoice-races.ts"

describe("several people at one invoice on pg", () => {
  let server: Serving, desk: Desk
  beforeAll(async () => {
    server = await serve("pg")
    desk = await deskAt(server)
  })
  afterAll(() => server.close())

  it("two full payments: one is taken, one refused", () => paysTwice(desk))
  it("a voided invoice was not paid, and a paid one is not voided", () => issuesAgainstVoids(desk))
  it("what is credited and refunded at once is neither refunded nor credited twice", () => creditsAgainstRefunds(desk))
  it("sixteen issue and credit at once: numbers are 1 to n in the order of issue", () =>
    numbersWithoutHoles(server, desk, 2))
})
