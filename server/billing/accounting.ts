/** Exports to accounting programs: records are read in pages and marked as exported once written. */
import { boolean, choice, command, get, insert, integer, invalidField, list, ok } from "../../core/kernel/index.ts"
import { plainTable, reject, settingText, Shown, Store, text, timestamp } from "../../core/kernel/index.ts"
import type { Endpoint, Settings } from "../../core/kernel/index.ts"
import { Effect, Result, Schema } from "effect"
import type { Posted, PostedKind } from "../../core/billing/accounting/postings.ts"
import {
  accountsOf,
  posted_kinds,
  postedCreditNote,
  postedInvoice,
  postedPayment,
  postedVoid,
  shownPosted
} from "../../core/billing/accounting/postings.ts"
import { read, write } from "../../core/billing/state/fields.ts"
import { credit_note_items, credit_notes, invoice_items, invoices, payments } from "../../core/billing/state/tables.ts"
import { emails, members } from "../../core/people/members/schema.ts"
import { isPlainDate } from "../../core/values/moment.ts"
import { instantOf, startOfDay, zoneOf } from "../../core/values/time.ts"

// Marks of exported records: a table of the server, outside the journal.

export const accounting_exports = plainTable(
  "accounting_exports",
  "key",
  {
    /** Kind and id of the record, such as `invoices/42`. */
    key: text({ max: 40 }),
    exported_at: timestamp()
  },
  { entity: "accounting_export", on_conflict_ignore: true }
)

const page_max = 200

interface Asked {
  readonly kind: PostedKind
  readonly since: string
  readonly after_id: number
  readonly again: boolean
}
/** Table, date column and condition of each kind of record. Never-exported voided invoices produce no postings. */
const selected: {
  readonly [K in PostedKind]: { readonly table: string; readonly at: string; readonly where: string }
} = {
  invoices: {
    table: "invoices",
    at: "issued_at",
    where:
      "t.deleted_at is null and t.type <> 'proforma' and t.status <> 'draft' and " +
      "(t.status <> 'voided' or exists (select 1 from accounting_exports e where e.key = 'invoices/' || t.id))"
  },
  voids: {
    table: "invoices",
    at: "voided_at",
    where:
      "t.deleted_at is null and t.status = 'voided' and " +
      "exists (select 1 from accounting_exports e where e.key = 'invoices/' || t.id)"
  },
  credit_notes: { table: "credit_notes", at: "issued_at", where: "1 = 1" },
  payments: { table: "payments", at: "paid_at", where: "1 = 1" }
}
const idsOf = Effect.fnUntraced(function* ({ after_id, again, kind, since }: Asked) {
  const { sql } = yield* Store
  const { at, table, where } = selected[kind]
  const rows = yield* sql<{ id: number | string }>`
    select t.id from ${sql.literal(table)} t where t.id > ${after_id} and t.${sql.literal(at)} >= ${since}
    and ${sql.literal(where)}
    ${sql.literal(again ? "" : `and not exists (select 1 from accounting_exports e where e.key = '${kind}/' || t.id) `)}
    order by t.id limit ${page_max}`
  return rows.map(({ id }) => Number(id))
})

const inOrder = { order: ["sort_order", "id"] }
const postedOf = Effect.fnUntraced(function* (kind: PostedKind, ids: ReadonlyArray<number>, settings: Settings) {
  const accounts = accountsOf(settings)
  if (ids.length === 0) return []
  if (kind === "invoices" || kind === "voids") {
    const rows = yield* Store.getMany(invoices, ids)
    const items = Map.groupBy(yield* Store.find(invoice_items, { invoice_id: ids }, inOrder), (row) => row.invoice_id)
    const posted = kind === "invoices" ? postedInvoice : postedVoid
    return rows.map((row): Posted => posted(row, items.get(row.id) ?? [], accounts))
  }
  const rows = kind === "payments" ? yield* Store.getMany(payments, ids) : []
  const notes = kind === "credit_notes" ? yield* Store.getMany(credit_notes, ids) : []
  const invoice_ids = [...new Set([...rows, ...notes].map((row) => row.invoice_id))]
  const of = yield* Store.byId(invoices, invoice_ids)
  if (kind === "payments")
    return rows.flatMap((row): ReadonlyArray<Posted> => {
      const invoice = of.get(row.invoice_id)
      return invoice === undefined ? [] : [postedPayment(row, invoice, accounts)]
    })
  const items = Map.groupBy(
    yield* Store.find(credit_note_items, { credit_note_id: ids }, inOrder),
    (row) => row.credit_note_id
  )
  const groups = new Map(
    (yield* Store.find(invoice_items, { invoice_id: invoice_ids })).map((row) => [row.id, row.revenue_group_id])
  )
  return notes.flatMap((note): ReadonlyArray<Posted> => {
    const invoice = of.get(note.invoice_id)
    return invoice === undefined ? [] : [postedCreditNote(note, items.get(note.id) ?? [], invoice, groups, accounts)]
  })
})

/** Returns a member's current name and e-mail address by id; accounting programs identify customers by them. */
const namesOf = Effect.fnUntraced(function* (ids: ReadonlyArray<number>) {
  const unique = [...new Set(ids)]
  const rows = yield* Store.byId(members, unique)
  const known = unique.length === 0 ? [] : yield* Store.find(emails, { member_id: unique }, { order: ["id"] })
  const addresses = Map.groupBy(known, (row) => row.member_id)
  return (id: number) => {
    const own = addresses.get(id) ?? []
    const email = (own.find(({ is_primary }) => is_primary) ?? own[0])?.address ?? null
    return { name: rows.get(id)?.name ?? "", email }
  }
})

const decimal = () => text({ describe: "Money: a decimal string in the document's currency" })
const document = {
  key: text({ describe: "Key that marks it as exported" }),
  kind: choice(posted_kinds),
  id: integer(),
  number: text(),
  date: text(),
  due_date: text({ nullable: true }),
  member_name: text(),
  member_email: text({ nullable: true }),
  reference: text({ nullable: true }),
  invoice_number: text({ nullable: true }),
  currency: text(),
  exchange_rate: text(),
  total: decimal(),
  lines: Shown.objects({ description: text(), account: text(), tax_code: text(), net: decimal(), tax: decimal() }),
  postings: Shown.objects({ account: text(), tax_code: text(), debit: decimal(), credit: decimal() })
}
const postings = get("/api/v1/accounting/postings", {
  answer: { documents: Shown.objects(document), meta: Shown.keys({ after_id: integer({ nullable: true }) }) },
  name: "accounting.postings",
  summary: "List accounting postings as debits and credits; default: not yet exported",
  ...read,
  server_only: true,
  fields: {
    kind: choice(posted_kinds, { required: true }),
    since: text({ required: true, max: 10, describe: "First day, on the company's clock, such as 2026-01-31" }),
    after_id: integer({ default: 0, min: 0, describe: "Cursor: meta.after_id of the previous page" }),
    again: boolean({ default: false, describe: "Include exported documents" })
  },
  run: Effect.fnUntraced(function* ({ settings, values }) {
    const kind = values.kind ?? "invoices"
    const since = values.since ?? ""
    if (!isPlainDate(since)) return yield* invalidField("since", "The since field must be a day such as 2026-01-31.")
    const zone = zoneOf(settingText(settings, "company", "timezone"))
    const from = instantOf(startOfDay(since, zone))
    const ids = yield* idsOf({ kind, since: from, after_id: values.after_id ?? 0, again: values.again ?? false })
    const posted = (yield* postedOf(kind, ids, settings)).toSorted((a, b) => a.id - b.id)
    const nameOf = yield* namesOf(posted.map(({ member_id }) => member_id))
    return ok({
      documents: posted.map((one) => shownPosted(one, nameOf(one.member_id), zone)),
      meta: { after_id: ids.length < page_max ? null : (ids.at(-1) ?? null) }
    })
  })
})

const key_form = /^(invoices|voids|credit_notes|payments)\/[1-9]\d{0,14}$/
const mark = command("POST", "/api/v1/accounting/exports", {
  answer: { marked: integer() },
  name: "accounting.mark",
  summary: "Mark documents as exported; later exports omit them",
  ability: write,
  permission: "invoices.edit",
  server_only: true,
  fields: { keys: list(text({ max: 40 }), { required: true, min_items: 1, max_items: 1_000 }) },
  streams: () => [],
  facts: () => Effect.void,
  decide: (_facts, { values }) => {
    const wrong = (values.keys ?? []).findIndex((key) => !key_form.test(key))
    return wrong >= 0
      ? reject(`keys.${wrong}`, "A key is a kind and an id, such as invoices/42.")
      : Result.succeed({ events: [], result: { keys: [...new Set(values.keys ?? [])] } })
  },
  result: Schema.Struct({ keys: Schema.Array(Schema.String) }),
  respond: Effect.fnUntraced(function* ({ keys }, { now }) {
    yield* Store.apply(keys.map((key) => insert(accounting_exports, { key, exported_at: now })))
    return ok({ marked: keys.length })
  })
})

export const accountingEndpoints: ReadonlyArray<Endpoint> = [postings, mark]
