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

describe("several people at one delivery on pg, a hundred times", () => {
  let server: Serving, quay: Quay
  beforeAll(async () => {
    server = await serve("pg")
    quay = await quayAt(server)
  })
  afterAll(() => server.close())

  it.each(Array.from({ length: 100 }, (_, at) => at + 1))("round %i", async (round) => {
    await piecesComeOnce(quay)
    await ordersShareALevel(quay)
    await serialsAreOnce(quay, `RACE-${round}`)
    await goBackOnce(quay)
    await comeWhileJobsTakeThem(quay)
  })
})
