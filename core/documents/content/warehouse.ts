/** Pick lists, delivery notes and return notes (rules/billing 3). They show no prices. */
import type { Settings, Store } from "../../kernel/index.ts"
import { Effect } from "effect"
import type { Block, Cell, Column, Group, PrintDocument, Row } from "../../pricing/print/blocks.ts"
import { plain } from "../../pricing/print/blocks.ts"
import { momentText, pageLabel, quantityText } from "../../pricing/print/format.ts"
import type { ExactNumber } from "../../values/decimal.ts"
import { type DocumentType } from "../schema.ts"
import type { DocumentSource, PreparedDocument } from "./invoices.ts"
import { symbolFor, type WarehouseFacts, warehouseFacts } from "./warehouse-facts.ts"
import type { PaperKind, PaperRow } from "./warehouse-lines.ts"
import { groupsOf, type PaperGroup } from "./warehouse-rows.ts"
import { type WarehouseWords, warehouseWords } from "./warehouse-words.ts"
import { withValues } from "../../values/text.ts"

const isPaperKind = (type: DocumentType): type is PaperKind =>
  type === "pick_list" || type === "delivery_note" || type === "return_note"

/** Prepares a warehouse document; undefined if the opportunity is gone. */
export const warehousePaper = Effect.fnUntraced(function* (
  source: DocumentSource,
  settings: Settings
): Store.Reads<PreparedDocument | undefined> {
  const { document_number, document_type: kind, documentable_id, now, store_id } = source
  if (!isPaperKind(kind)) return undefined
  // Customers get only the delivery note; pick lists and return notes are for staff.
  const reader = { store_id, is_customer: kind === "delivery_note", now }
  const facts = yield* warehouseFacts(documentable_id, reader, settings)
  if (facts === undefined) return undefined
  return {
    fragments: {},
    data: {},
    compose: (texts) => warehouseDocument(facts, { kind, document_number, now }, texts),
    file_name: fileName(kind, document_number, facts)
  }
})

const fileName = (kind: PaperKind, number: string | null, { order }: WarehouseFacts): string =>
  [kind.replace("_", "-"), number ?? `order-${order.number ?? order.id}`].join("-").replace(/[^\w.-]+/g, "-")

interface About {
  readonly kind: PaperKind
  readonly document_number: string | null
  readonly now: string
}
type Texts = { readonly [place: string]: string }
interface Writing extends About {
  readonly facts: WarehouseFacts
  readonly words: WarehouseWords
  readonly language: string
}

/** Builds the document. Pure: equal facts give equal pages. */
const warehouseDocument = (facts: WarehouseFacts, about: About, texts: Texts = {}): PrintDocument => {
  const { options, order, seller } = facts
  const { language } = options
  const words = warehouseWords(language)
  const writing: Writing = { ...about, facts, words, language }
  const { groups, to_follow } = groupsOf(facts, about.kind)
  const name = words[about.kind]
  const title = `${name} ${order.number ?? `#${order.id}`}`
  const footer = (texts["footer"] ?? (about.kind === "delivery_note" ? options.footer : null) ?? "").split("\n")
  return {
    format: "flightcase.document",
    version: 2,
    title,
    language,
    ...(seller === null || seller.name === "" ? {} : { author: seller.name }),
    dated_at: about.now,
    page: { size: options.page_size },
    header: { start: plain(seller?.name ?? ""), end: plain(`${title} · ${order.subject}`.slice(0, 90)) },
    footer: { lines: footer.filter((line) => line.trim() !== "").slice(0, 6), page_label: pageLabel(language) },
    ...(options.accent === null || !/^#[0-9a-f]{6}$/.test(options.accent) ? {} : { accent: options.accent }),
    blocks: [
      { kind: "heading", level: 1, text: name },
      head(writing),
      ...paragraph(texts["intro"] ?? null),
      ...notesOf(writing),
      ...(groups.length === 0 ? paragraph(words.nothing) : [table(writing, groups), totals(writing, groups)]),
      ...unweighed(writing, groups),
      ...(to_follow === undefined ? [] : [table(writing, [to_follow])]),
      ...paragraph(texts["terms"] ?? null, true),
      signatures(writing)
    ]
  }
}

const paragraph = (text: string | null, small = false): ReadonlyArray<Block> =>
  text === null || text.trim() === ""
    ? []
    : [{ kind: "paragraph", runs: plain(text), ...(small ? { small: true } : {}) }]

type Pair = { readonly label: string; readonly value: string }
const pairs = (given: ReadonlyArray<readonly [label: string, value: string | null | undefined]>): ReadonlyArray<Pair> =>
  given.flatMap(([label, value]) => (value == null || value.trim() === "" ? [] : [{ label, value }]))

const when = ({ facts, language }: Writing, instant: string | null): string | null =>
  instant === null ? null : momentText(instant, facts.options.zone, language)
/** A period as text, `start – end`; the end omits its date if it is the same day. */
const span = (writing: Writing, from: string | null, to: string | null): string => {
  const [start, end] = [when(writing, from), when(writing, to)]
  const day = start?.slice(0, start.indexOf(" ") + 1) ?? ""
  const until = end !== null && day !== "" && end.startsWith(day) ? end.slice(day.length) : end
  return [...new Set([start, until])].filter((one) => one !== null && one !== "").join(" – ")
}

/** Head: address to the left, with the order's code for scanners; times and contact to the right. */
const head = (writing: Writing): Block => {
  const { document_number, facts, kind, now, words } = writing
  const { collect_from, customer, deliver_to, order, venue } = facts
  const is_back = kind === "return_note"
  const fetched = is_back ? order.customer_returning : order.customer_collecting
  const address = is_back ? collect_from : deliver_to
  const place = venue ?? customer?.name ?? ""
  return {
    kind: "columns",
    columns: [
      {
        share: 1,
        blocks: [
          { kind: "paragraph", runs: [{ text: order.subject, bold: true }] },
          ...(fetched
            ? paragraph(is_back ? words.brings_back : words.collects)
            : address.length === 0
              ? []
              : ([
                  { kind: "paragraph", runs: plain(is_back ? words.collect_from : words.deliver_to), small: true },
                  { kind: "paragraph", runs: plain([place, ...address].filter((line) => line !== "").join("\n")) }
                ] as const)),
          {
            kind: "code",
            ...symbolFor(order.number ?? String(order.id)),
            caption: `${words.order} ${order.number ?? order.id}`,
            width_mm: 50
          }
        ]
      },
      {
        share: 1.2,
        blocks: [
          {
            kind: "key_values",
            rows: pairs([
              [words.number, document_number],
              [words.order, order.number ?? `${words.pending} (#${order.id})`],
              [words.reference, order.reference],
              [words.customer, customer?.name],
              [words.phone, customer?.phone],
              [words.venue, venue],
              [words.store, facts.stores.get(order.store_id ?? 0)?.name],
              ...times(writing),
              [words.printed, when(writing, now)]
            ])
          }
        ]
      }
    ]
  }
}
const times = (writing: Writing): ReadonlyArray<readonly [label: string, value: string]> => {
  const { facts, kind, words } = writing
  const { order } = facts
  const hire = [words.hire, span(writing, order.starts_at, order.ends_at)] as const
  return kind === "return_note"
    ? [
        hire,
        [words.back_by, when(writing, order.collect_starts_at ?? order.unload_starts_at ?? order.ends_at) ?? ""],
        [words.collection, span(writing, order.collect_starts_at, order.collect_ends_at)]
      ]
    : [
        [words.loading, span(writing, order.load_starts_at, order.load_ends_at)],
        [words.delivery, span(writing, order.deliver_starts_at, order.deliver_ends_at)],
        hire
      ]
}

const notesOf = ({ facts, kind, words }: Writing): ReadonlyArray<Block> => {
  const { order } = facts
  const instructions = kind === "return_note" ? order.collection_instructions : order.delivery_instructions
  const told = [instructions, kind === "delivery_note" ? order.external_description : null]
    .filter((text) => text !== null && text.trim() !== "")
    .join("\n")
  return told === "" ? [] : [{ kind: "paragraph", runs: [{ text: `${words.notes}: `, bold: true }, { text: told }] }]
}

const quantity = ({ language }: Writing, value: ExactNumber | null): string =>
  value === null ? "" : quantityText(value.toFixed(2), language)
const kilograms = ({ language }: Writing, value: ExactNumber | null): string =>
  value === null ? "" : `${quantityText(value.toFixed(2), language)}\u00a0kg`

const columnsOf = ({ kind, words }: Writing): ReadonlyArray<Column> => {
  const figure = (title: string, share: number): Column => ({ title, share, alignment: "end" })
  switch (kind) {
    case "pick_list":
      return [
        { title: words.item, share: 4.4 },
        figure(words.quantity, 0.8),
        figure(words.weight, 1.2),
        { title: words.code, share: 2.9, alignment: "center" }
      ]
    case "delivery_note":
      return [{ title: words.item, share: 6 }, figure(words.quantity, 1), figure(words.weight, 1.4)]
    case "return_note":
      return [
        { title: words.item, share: 3.6 },
        figure(words.out, 0.7),
        figure(words.back, 0.95),
        figure(words.missing, 0.95),
        { title: words.damage, share: 1.5, alignment: "center" },
        { title: words.code, share: 2.7, alignment: "center" }
      ]
  }
}

const table = (writing: Writing, groups: ReadonlyArray<PaperGroup>): Block => {
  const has_returns = groups.some(({ rows }) => rows.some(({ back }) => back?.greaterThan(0) === true))
  return {
    kind: "table",
    caption: writing.words[writing.kind],
    columns: columnsOf(writing),
    rows: groups.flatMap((group): ReadonlyArray<Group | Row> => [
      {
        kind: "group",
        text: group.text.slice(0, 2_000),
        value: [
          `${quantity(writing, group.pieces)} ${writing.words.pcs}`,
          group.weight.isZero() ? "" : kilograms(writing, group.weight)
        ]
          .filter((part) => part !== "")
          .join(" · "),
        ...(group.is_case ? { together: true } : {})
      },
      ...group.rows.map((row): Row => ({
        kind: "row",
        cells: cellsOf(writing, row, has_returns),
        ...(row.depth === 0 ? {} : { depth: Math.min(row.depth, 8) })
      }))
    ])
  }
}

const cellsOf = (writing: Writing, row: PaperRow, has_returns: boolean): ReadonlyArray<Cell> => {
  const text = (shown: string): Cell => ({ runs: plain(shown) })
  const note = row.note.filter((line) => line.trim() !== "").join("\n")
  const item: Cell = {
    runs: plain(row.name),
    ...(note === "" ? {} : { note }),
    ...(row.tick === null ? {} : { tick: row.tick })
  }
  const code: Cell = row.code === undefined ? { runs: [] } : { runs: [], code: row.code }
  const figures = [text(quantity(writing, row.quantity))]
  if (writing.kind === "delivery_note") return [item, ...figures, text(kilograms(writing, row.weight))]
  if (writing.kind === "pick_list") return [item, ...figures, text(kilograms(writing, row.weight)), code]
  // Pieces not returned. Until something is returned, the columns stay empty, to be filled in by hand.
  const missing = row.quantity === null || row.back === null ? null : row.quantity.minus(row.back)
  return [
    item,
    ...figures,
    text(has_returns ? quantity(writing, row.back) : ""),
    text(has_returns && missing?.isZero() === false ? quantity(writing, missing) : ""),
    text(row.damage),
    code
  ]
}

const totals = (writing: Writing, groups: ReadonlyArray<PaperGroup>): Block => {
  const { words } = writing
  const [first, ...others] = groups
  const sum = (of: (group: PaperGroup) => ExactNumber): ExactNumber | null =>
    first === undefined ? null : others.reduce((all, group) => all.plus(of(group)), of(first))
  const weight = sum((group) => group.weight)
  return {
    kind: "totals",
    rows: [
      {
        label: words.pieces,
        value: quantity(
          writing,
          sum((group) => group.pieces)
        ),
        strong: true
      },
      ...(weight === null || weight.isZero()
        ? []
        : [{ label: words.total, value: kilograms(writing, weight), strong: true }])
    ]
  }
}
const unweighed = (writing: Writing, groups: ReadonlyArray<PaperGroup>): ReadonlyArray<Block> => {
  const is_weighed = groups.some(({ weight }) => !weight.isZero())
  const count = groups
    .map((group) => group.unweighed)
    .reduce<ExactNumber | null>((all, one) => all?.plus(one) ?? one, null)
  return !is_weighed || count === null || count.isZero()
    ? []
    : paragraph(withValues(writing.words.without_weight, { count: quantity(writing, count) }), true)
}

const signatures = ({ kind, words }: Writing): Block => {
  const signed = (label: string): Block => ({ kind: "signature", label })
  return kind === "pick_list"
    ? signed(words.picked_by)
    : {
        kind: "columns",
        columns: [
          { share: 1, blocks: [signed(words.handed_over)] },
          { share: 1, blocks: [signed(kind === "delivery_note" ? words.received_by : words.taken_back)] }
        ]
      }
}
