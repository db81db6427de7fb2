/**
 * Fills an empty server from an imported journal. Runs in the caller's transaction: a failure leaves the server as it
 * was.
 */
import { Effect } from "effect"
import type { Catalogue } from "../../core/kernel/catalogue.ts"
import type { Failure } from "../../core/kernel/endpoint.ts"
import { ensureSequences, advanceIdSequence, hasOwnIds } from "../../core/kernel/ids.ts"
import { journal } from "../../core/kernel/journal.ts"
import { invalid, invalidField } from "../../core/kernel/rejection.ts"
import { beginEpoch, projectJournal } from "../../core/kernel/store/schema.ts"
import { bindings, quote } from "../../core/kernel/store/statement.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { users } from "../../core/users/schema.ts"
import { owner_user_id } from "../users.ts"
import type { Manifest } from "./schema.ts"
import { checksumsAsExported } from "./checksums.ts"

/**
 * Replaces the journal with the imported one, projects every table from it and sets counters as the export names them.
 * Fails with 422 where events are missing, where tables differ from the export's checksums (the error names each), or
 * where no owner comes of it. Cost: one projection of the journal and one pass over all rows.
 */
export const applyRestore = Effect.fnUntraced(function* (
  catalogue: Catalogue,
  manifest: Manifest,
  now: string
): Effect.fn.Return<void, Failure, Store> {
  const store = yield* Store
  const [staged = { events: 0, top: 0 }] = yield* store.run<{ events: number; top: number | null }>(
    "select count(*) as events, max(position) as top from restored_events"
  )
  if (Number(staged.events) !== manifest.events)
    return yield* invalidField(
      "events",
      `${Number(staged.events)} of ${manifest.events} events have come; send the rest first.`
    )
  if (Number(staged.top ?? 0) > manifest.position)
    return yield* invalidField("position", "There are events beyond the last position the export names.")
  const columns = Object.keys(journal.columns).map(quote).join(", ")
  yield* store.run("delete from journal")
  yield* store.run(`insert into journal (${columns}) select ${columns} from restored_events order by position`)
  const head = bindings(store.dialect)
  yield* store.run(`update journal_head set position = ${head.bind(manifest.position)} where id = 1`, head.values)
  for (const table of catalogue.tables) yield* store.run(`delete from ${quote(table.name)}`)
  yield* projectJournal(catalogue)
  const expected = new Map(manifest.tables.map((table) => [table.name, table]))
  const differing = (yield* checksumsAsExported(catalogue, expected)).filter(({ name, rows, checksum }) => {
    const other = expected.get(name)
    return other === undefined ? rows > 0 : other.checksum !== checksum
  })
  if (differing.length > 0) {
    return yield* invalid(
      Object.fromEntries(
        differing.map(({ name, rows }) => [
          `tables.${name}`,
          [
            `The journal comes to ${rows} other rows of ${name} than the export told (${expected.get(name)?.rows ?? 0}); the export is damaged or of another release.`
          ]
        ])
      )
    )
  }
  if ((yield* store.get(users, owner_user_id))?.is_owner !== true)
    return yield* invalidField("events", "The journal knows no owner; this is no export of a whole server.")
  yield* ensureSequences(catalogue.tables)
  for (const table of catalogue.tables.filter(hasOwnIds)) {
    const next = manifest.ids[table.name]
    if (next !== undefined) yield* advanceIdSequence(table.name, next)
  }
  for (const [name, next] of Object.entries(manifest.numbers)) {
    const { values, bind } = bindings(store.dialect)
    const given = [bind(name), bind(next)]
    yield* store.run(
      `insert into number_sequences (name, next) values (${given.join(", ")}) on conflict (name) do update set next = excluded.next`,
      values
    )
  }
  yield* store.run("delete from restored_events")
  // A new epoch: devices that followed the empty journal sync again from the start.
  yield* beginEpoch(store, now)
})
