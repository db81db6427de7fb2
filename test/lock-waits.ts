/** Connections to a database of the tests that wait for a lock; other tests' databases are on the same server. */
import { setTimeout as pause } from "node:timers/promises"
import type pg from "pg"

/** Number of connections to the client's database that wait for a lock. */
export const lockWaits = async (client: pg.Client): Promise<number> => {
  // Within a transaction Postgres would keep showing the connections of the first query.
  await client.query("select pg_stat_clear_snapshot()")
  const { rows } = await client.query(
    "select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
  )
  return rows[0].n
}

/** Resolves once as many of them wait; fails after 20 seconds. */
export const untilWaiting = async (client: pg.Client, count = 1): Promise<void> => {
  for (let looks = 0; (await lockWaits(client)) < count; looks++) {
    if (looks > 2_000) throw new Error("nothing waits for a lock")
    await pause(10)
  }
}
