import { afterAll, beforeAll, describe, it } from "vitest"
import { serve, type Serving } from "../server/serving.ts"
import {
  comeWhileJobsTakeThem,
  goBackOnce,
  ordersShareALevel,
  piecesComeOnce,
  type Quay,
  quayAt,
  serialsAreOnce
} from "./receipt-races.ts"

describe("several people at one delivery on pg", () => {
  let server: Serving, quay: Quay
  beforeAll(async () => {
    server = await serve("pg")
    quay = await quayAt(server)
  })
  afterAll(() => server.close())

  it("eight receive what five are to come of: each piece comes once", () => piecesComeOnce(quay))
  it("what several orders bring of a bought product is one level", () => ordersShareALevel(quay))
  it("one serial number is on one unit", () => serialsAreOnce(quay, "RACE-1"))
  it("goods go back once, while more come", () => goBackOnce(quay))
  it("units come and go back while jobs take them", async () => {
    for (let round = 0; round < 5; round++) await comeWhileJobsTakeThem(quay)
  })
})
