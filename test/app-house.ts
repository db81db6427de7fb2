/** A rental company on an app in memory, opened before the tests of a describe or file and closed after them. */
import { afterAll, beforeAll, expect, it } from "vitest"
import { type App, type Engine, openApp, piecesHeld } from "./app.ts"
import { type Answer, rentalHouse } from "./rental-house.ts"

/** With `clock` the time stands at that instant until a test sets another; `now` is when the company was created. */
export const appHouse = (engine: Engine = "sqlite", clock?: string, now?: string) => {
  let opened: App
  beforeAll(async () => {
    opened = await openApp(engine, now)
    opened.setClock(clock)
  })
  afterAll(() => opened.close())
  return houseOn({
    call: (...asked) => opened.call(...asked),
    run: (effect) => opened.run(effect),
    dump: () => opened.dump(),
    setClock: (instant) => opened.setClock(instant),
    rebuild: () => opened.rebuild(),
    get invented() {
      return opened.invented
    },
    close: () => opened.close()
  })
}
export const houseOn = (app: App) => ({
  app,
  ...rentalHouse((method, path, body, by) => app.call(method, `/api/v1${path}`, body, by)),
  heldBy: (opportunity_id: number) => app.run(piecesHeld(opportunity_id))
})
export type AppHouse = ReturnType<typeof houseOn>

/** Expects a refusal that names exactly these fields; returns its messages. */
export const refused = async (asked: Promise<Answer>, ...fields: ReadonlyArray<string>) => {
  const { body, status } = await asked
  expect([status, Object.keys(body?.errors ?? {}).sort()], JSON.stringify(body)).toEqual([422, fields.toSorted()])
  return body.errors
}
/** Declares a test that must be the last one of its app. */
export const itFoldsAgain = ({ app }: AppHouse): void =>
  it("projecting the journal again yields the same tables as before", async () => {
    const before = await app.dump()
    await app.rebuild()
    expect(await app.dump()).toEqual(before)
  })
/** Status of a response, and the fields its errors name. */
export const errorKeys = ({ body, status }: Answer) => [status, Object.keys(body?.errors ?? {}).sort()]
