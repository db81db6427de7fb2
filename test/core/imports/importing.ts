/** Sends rows to an import and reads their verdicts. */
import { Effect } from "effect"
import { expect, it } from "vitest"
import { lastPosition } from "../../../core/kernel/events/journal.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import type { Viewer } from "../../../core/kernel/fields/rejection.ts"
import type { App, Reply } from "../../app.ts"
import { words } from "../../words.ts"
import type { Body } from "../../answers.ts"

interface Importing {
  /** Sends a body unchanged. */
  readonly sendBody: (body: unknown, viewer?: Viewer) => Promise<Reply>
  readonly send: (rows: unknown, more?: object) => Promise<Reply>
  readonly verdicts: (rows: unknown, more?: object) => Promise<Body["results"]>
  /** Verdict on a single row. */
  readonly one: (row: object, more?: object) => Promise<Body["results"][0]>
  /** Last position of the journal; unchanged if nothing was recorded. */
  readonly head: () => Promise<number>
}

/** `app` is called only when something is sent, once it is open. */
export const importing = (app: () => App, what: "members" | "products" | "rate_definitions"): Importing => {
  const sendBody: Importing["sendBody"] = (body, viewer) => app().call("POST", `/api/v1/${what}/import`, body, viewer)
  const send: Importing["send"] = (rows, more = {}) => sendBody({ rows, ...more })
  const verdicts: Importing["verdicts"] = async (rows, more) => (await send(rows, more)).body.results
  return {
    sendBody,
    send,
    verdicts,
    one: async (row, more) => (await verdicts([row], more))[0],
    head: () => app().run(Effect.flatMap(Store, lastPosition))
  }
}

/** Declares a test that a dry run of these rows changes nothing, and gives the verdicts of the import. */
export const itRehearses = (
  { head, send }: Importing,
  dump: () => Promise<object>,
  rows: ReadonlyArray<object>,
  statuses: string
): void => {
  it("gives the verdicts of an import in a dry run, which writes nothing", async () => {
    const [before, position] = [await dump(), await head()]
    const dry = (await send(rows, { dry_run: true })).body
    expect([await dump(), await head()]).toEqual([before, position])
    const wet = (await send(rows)).body
    expect(dry.results).toEqual(
      wet.results.map((verdict) => (verdict.status === "created" ? { ...verdict, id: null } : verdict))
    )
    expect(wet.results.map(({ status }) => status)).toEqual(words(statuses))
    expect(dry.meta).toEqual({ ...wet.meta, dry_run: true })
  })
}

/** Declares tests of batches; `counted` returns the number of existing records of a batch. */
export const itTakesBatches = (
  { send, sendBody }: Importing,
  batches: {
    readonly rowOf: (batch: string, at: number) => object
    readonly counted: (batch: string) => Promise<number>
  }
): void => {
  const batch = (name: string, size: number) => Array.from({ length: size }, (_, at) => batches.rowOf(name, at))
  it("rejects a body without rows or with more than 500 rows", async () => {
    for (const body of [{}, { rows: {} }, { rows: Array.from({ length: 501 }, () => ({})) }]) {
      const refused = await sendBody(body)
      expect([refused.status, Object.keys(refused.body.errors)]).toEqual([422, ["rows"]])
    }
  })
  it("imports 500 rows in one request, and changes nothing if the request is repeated", async () => {
    const rows = batch("Bulk", 500)
    expect((await send(rows)).body.meta).toMatchObject({ created: 500, rejected: 0 })
    expect((await send(rows)).body.meta).toMatchObject({ unchanged: 500 })
    expect(await batches.counted("Bulk")).toBe(500)
  })
  it("creates each record once if two imports of it run concurrently", async () => {
    const rows = batch("Twice", 20)
    const metas = (await Promise.all([send(rows), send(rows)])).map(({ body: { meta } }) => [
      meta.created,
      meta.unchanged
    ])
    expect(metas.sort()).toEqual([
      [0, 20],
      [20, 0]
    ])
    expect(await batches.counted("Twice")).toBe(20)
  })
}
