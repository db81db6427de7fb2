/** The day's lists and searches use indexes, never table scans. */
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { Store } from "../../../../core/kernel/store/store.ts"
import { searchFor } from "../../../../core/overview/search/answer.ts"
import { todayFor } from "../../../../core/overview/today/today.ts"
import { both_engines, owner } from "../../../app.ts"
import { plansOf } from "../../../query-plan.ts"
import { serve, type Serving } from "../../../server/serving.ts"

const now = "2026-06-18T12:00:00.000Z"
const asked = { viewer: owner, settings: {}, now }

/** True if a line of a plan scans a whole table or a whole index, but for texts not indexed yet: 63 rows at most. */
const isWhole = (line: string): boolean =>
  /Seq Scan on/.test(line) ||
  (/^SCAN (?!\w+_search_changed$)\w+( USING (COVERING )?INDEX .*)?$/.test(line) && !/VIRTUAL TABLE/.test(line))

const finds = Object.fromEntries(
  ["gala", "gala acme", "erenc", "MH-4711", "1104711", "07700 900123", "ab"].map((text) => [
    `find ${text}`,
    searchFor(text, asked, { kinds: null, limit: 20 })
  ])
)
const expectIndexes = async (server: Serving, readings: { readonly [what: string]: unknown }): Promise<void> => {
  for (const [what, reading] of Object.entries(readings)) {
    const plans = await server.run(plansOf<unknown, unknown, never>(reading as never))
    expect(plans.length, what).toBeGreaterThan(2)
    for (const { lines, text } of plans) expect(lines.filter(isWhole), `${what}: ${text.slice(-300)}`).toEqual([])
  }
}

describe.each(both_engines)("queries on %s", (engine) => {
  it("scan no table for the day's lists, or for a search by words, parts of words, codes or numbers", async () => {
    const server = await serve(engine)
    const readings = {
      "today at all stores": todayFor({ ...asked, store_id: undefined, date: undefined }),
      "today at one store": todayFor({ ...asked, store_id: 1, date: undefined }),
      ...finds
    }
    await expectIndexes(server, readings)
    await server.close()
  })
})

it("a search scans no table even if SQLite's statistics make the indexes look useless", async () => {
  const server = await serve("sqlite")
  // Statistics of 100,000 rows with equal values in every column, by which no index narrows a search.
  const analyzed = Effect.gen(function* () {
    const { run } = yield* Store
    yield* run("analyze")
    yield* run("delete from sqlite_stat1")
    yield* run(
      "insert into sqlite_stat1 (tbl, idx, stat) select tbl_name, name, '100000 100000 100000 100000 100000' " +
        "from sqlite_master where type = 'index' and sql is not null"
    )
    yield* run("analyze sqlite_schema")
  })
  await server.run(analyzed)
  await expectIndexes(server, finds)
  await server.close()
})
