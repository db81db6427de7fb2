/** Lines and costs of a quotation or order as a table: charged ones by group, and optional ones separately. */
import type { PaperOptions } from "../../billing/paper/letter.ts"
import { addressLines, shown_left_to_right, shownMoney, windowText } from "../../billing/paper/letter.ts"
import { wordsOf } from "../../billing/paper/words.ts"
import type { InvoiceItemRow, NamedParty } from "../../billing/state/tables.ts"
import { fixed_charge, opportunity_versions, sale_line } from "../../orders/opportunities/tables/index.ts"
import type { CostRow, ItemRow, OpportunityRow, VersionRow } from "../../orders/opportunities/tables/index.ts"
import { isBelow } from "../../orders/opportunities/state/index.ts"
import { type Column, plain, type Row, type Table } from "../../pricing/print/blocks.ts"
import { percentText, quantityText } from "../../pricing/print/format.ts"
import { exact, formatDecimal, roundHalfAway, wholeUnits } from "../../values/decimal.ts"
import { percentOfMoney } from "../../values/money.ts"
import { letterWordsOf } from "./words.ts"
import { Effect } from "effect"
import { chargedSource, depositsOf } from "../../billing/checkout/api.ts"
import { billedRows } from "../../billing/state/rows.ts"
import type { Deposit } from "../../billing/checkout/decide.ts"
import { buyerOf, nobody, sellerOf } from "../../billing/state/parties.ts"
import { settingText, Store, type RowOf, type Settings } from "../../kernel/index.ts"
import { addresses, members } from "../../people/members/schema.ts"
import { chargeableDays, exclusiveTax } from "../../pricing/pricing/line.ts"
import { countries } from "../../setup/reference-data/currencies.ts"
import type { CommonFacts, CustomerFacts, PricedJobFacts } from "./shared-fields.ts"
import type { DocumentSource } from "./invoices.ts"

/** Input of the table: lines in path order, and amounts of charged lines and costs. */
interface SalesSource {
  readonly header: OpportunityRow
  readonly lines: ReadonlyArray<ItemRow>
  readonly costs: ReadonlyArray<CostRow>
  readonly billed: ReadonlyArray<InvoiceItemRow>
}
/** A displayed line or cost; `amount` includes tax if {@link showsGross}, `net` never does. */
export interface SalesRow {
  readonly name: string
  readonly note: string
  readonly depth: number
  /** Names of its enclosing groups, outermost first; null for costs. */
  readonly groups: ReadonlyArray<string> | null
  readonly is_optional: boolean
  /** Whether its periods are those of the whole hire: not of sales, fixed prices, costs and dates of its own. */
  readonly takes_whole_hire: boolean
  /** Quantity, price and amounts; null for texts without a price. */
  readonly figures: {
    readonly quantity: string
    /** Minor units for one piece and period; null if only the amount is known. */
    readonly price: number | null
    readonly periods: string
    readonly discount_percent: string | null
    readonly rule_discount: number
    readonly tax_rate: string | null
    readonly amount: number
    readonly net: number
  } | null
}

/** Whether rows show amounts with tax. Under a deal price they cannot: only the net of lines is known. */
export const showsGross = ({ deal_total, prices_include_tax }: OpportunityRow): boolean =>
  prices_include_tax && deal_total === null

/** Rows of the lines in path order, then of the costs; groups have no row. */
export const salesRows = (source: SalesSource, options: PaperOptions): ReadonlyArray<SalesRow> => {
  const { billed, costs, header, lines } = source
  const by_line = new Map(billed.map((row) => [row.opportunity_item_id, row]))
  const by_cost = new Map(billed.map((row) => [row.opportunity_cost_id, row]))
  const amountOf = (row: InvoiceItemRow | undefined, net: number, tax_rate: string | null) => {
    const shown = row === undefined ? net : row.subtotal
    if (!showsGross(header)) return { amount: shown, net: shown }
    return { net: shown, amount: row === undefined ? exclusiveTax(net, tax_rate ?? "0").gross : row.total }
  }
  const parents = parentsOf(lines)
  return [
    ...lines
      .filter(({ item_type }) => item_type !== "group")
      .map((line): SalesRow => {
        const above = parents(line)
        const row = header.deal_total === null ? by_line.get(line.id) : undefined
        const tax_rate = row?.tax_rate ?? line.tax_rate
        const has_figures = line.total !== 0 || (line.item_type !== "text" && line.unit_price !== 0)
        return {
          name: line.name,
          note: [line.description, ownWindow(line, header, options)].filter((one) => one).join("\n"),
          depth: above.filter(({ is_optional, item_type }) => item_type !== "group" && is_optional === line.is_optional)
            .length,
          groups: above.filter(({ item_type }) => item_type === "group").map(({ name }) => name),
          is_optional: line.is_optional,
          takes_whole_hire: isForWholeHire(line, header),
          figures:
            line.item_type === "text" && !has_figures
              ? null
              : {
                  quantity: line.quantity,
                  price: has_figures ? line.unit_price : null,
                  periods: periodsOf(line),
                  discount_percent: line.discount_percent,
                  rule_discount: header.deal_total === null ? line.rule_discount : 0,
                  tax_rate,
                  ...amountOf(row, line.total, tax_rate)
                }
        }
      }),
    ...costs.map((cost): SalesRow => {
      const row = header.deal_total === null ? by_cost.get(cost.id) : undefined
      const is_computed = cost.surcharge_id !== null
      const quantity = is_computed ? "1" : String(wholeUnits(cost.quantity))
      const tax_rate = row?.tax_rate ?? cost.tax_rate
      return {
        name: cost.description,
        note: "",
        depth: 0,
        groups: null,
        is_optional: cost.is_optional,
        takes_whole_hire: false,
        figures: {
          quantity,
          price: is_computed ? null : cost.amount,
          periods: "",
          discount_percent: null,
          rule_discount: 0,
          tax_rate,
          ...amountOf(row, is_computed ? cost.amount : cost.amount * wholeUnits(cost.quantity), tax_rate)
        }
      }
    })
  ]
}

/** Finds the lines that enclose a line, outermost first. */
const parentsOf = (lines: ReadonlyArray<ItemRow>) => {
  const by_path = new Map(lines.map((line) => [line.path, line]))
  return ({ path }: ItemRow): ReadonlyArray<ItemRow> => {
    const above: Array<ItemRow> = []
    for (let length = 4; length < path.length; length += 4) {
      const one = by_path.get(path.slice(0, length))
      if (one !== undefined && isBelow(path, one.path)) above.push(one)
    }
    return above
  }
}

/** Hire period of a line as text, if it differs from the order's charge period; else "". */
const ownWindow = (line: ItemRow, header: OpportunityRow, options: PaperOptions): string => {
  const hire = {
    starts_at: header.charge_starts_at ?? header.starts_at,
    ends_at: header.charge_ends_at ?? header.ends_at
  }
  const own = { starts_at: line.starts_at ?? hire.starts_at, ends_at: line.ends_at ?? hire.ends_at }
  return own.starts_at === hire.starts_at && own.ends_at === hire.ends_at
    ? ""
    : shown_left_to_right + windowText(own, options)
}

const isForWholeHire = (line: ItemRow, { ends_at, starts_at }: OpportunityRow): boolean =>
  line.transaction_type !== sale_line &&
  line.charge_period !== fixed_charge &&
  (line.starts_at ?? starts_at) === starts_at &&
  (line.ends_at ?? ends_at) === ends_at

/** Chargeable periods, if quantity × price × periods less the discount gives exactly the amount; else "". */
const periodsOf = ({ discount_percent, discounted_total, quantity, unit_price }: ItemRow): string => {
  const once = exact(unit_price).times(wholeUnits(quantity))
  const kept = exact(100).minus(exact(discount_percent ?? "0"))
  if (once.isZero() || kept.isZero()) return ""
  const periods = roundHalfAway(exact(discounted_total).times(100).dividedBy(kept).dividedBy(once), 2)
  const before = roundHalfAway(once.times(periods)).toNumber()
  const after = before - (discount_percent === null ? 0 : percentOfMoney(before, discount_percent))
  return after === discounted_total ? formatDecimal(periods, 2) : ""
}

export const salesTable = (
  rows: ReadonlyArray<SalesRow>,
  { currency_code }: Pick<OpportunityRow, "currency_code">,
  is_gross: boolean,
  options: PaperOptions
): Table => {
  const words = letterWordsOf(options.language)
  const money = (minor: number): string => shownMoney(minor, currency_code, options)
  const columns = columnsOf(rows, is_gross, options.language)
  const sumOf = (some: ReadonlyArray<SalesRow>): number =>
    some.reduce((sum, { figures }) => sum + (figures?.amount ?? 0), 0)
  const shown = (row: SalesRow): Row => ({
    kind: "row",
    ...(row.depth === 0 ? {} : { depth: Math.min(8, row.depth) }),
    cells: columns.map(({ cell }) => cell(row, money))
  })
  const charged = rows.filter(({ is_optional }) => !is_optional)
  const optional = rows.filter(({ is_optional }) => is_optional)
  const titleOf = ({ groups }: SalesRow): string => (groups === null ? words.charges : groups.join(" › "))
  const sections: Array<{ readonly title: string; readonly rows: Array<SalesRow> }> = []
  for (const row of charged) {
    const title = titleOf(row)
    const last = sections.at(-1)
    if (last !== undefined && last.title === title) last.rows.push(row)
    else sections.push({ title, rows: [row] })
  }
  return {
    kind: "table",
    caption: wordsOf(options.language).description,
    striped: true,
    columns: columns.map(({ column }) => column),
    rows: [
      ...sections.flatMap(({ rows: own, title }, at) => [
        // Ungrouped lines need no heading unless they follow grouped ones.
        ...(title === "" && at === 0
          ? []
          : [{ kind: "group" as const, text: title || words.further, value: money(sumOf(own)) }]),
        ...own.map(shown)
      ]),
      ...(optional.length === 0
        ? []
        : [{ kind: "group" as const, text: words.optional, value: money(sumOf(optional)) }, ...optional.map(shown)])
    ]
  }
}

interface ShownColumn {
  readonly column: Column
  readonly cell: (row: SalesRow, money: (minor: number) => string) => Row["cells"][number]
}
const columnsOf = (rows: ReadonlyArray<SalesRow>, is_gross: boolean, language: string): ReadonlyArray<ShownColumn> => {
  const words = wordsOf(language)
  const figures = rows.flatMap((row) => row.figures ?? [])
  type Figures = NonNullable<SalesRow["figures"]>
  const number = (
    title: string,
    share: number,
    text: (figures: Figures, money: (minor: number) => string) => string
  ): ShownColumn => ({
    column: { title, share, alignment: "end" },
    cell: (row, money) => ({ runs: plain(row.figures === null ? "" : text(row.figures, money)) })
  })
  const optional = (is_needed: boolean, column: ShownColumn): ReadonlyArray<ShownColumn> => (is_needed ? [column] : [])
  return [
    {
      column: { title: words.description, share: 4.6 },
      cell: ({ name, note }) => ({ runs: plain(name), ...(note === "" ? {} : { note }) })
    },
    number(words.quantity, 1, ({ quantity }) => quantityText(quantity, language)),
    number(is_gross ? words.unit_price_gross : words.unit_price, 1.7, ({ price }, money) =>
      price === null ? "" : money(price)
    ),
    ...optional(
      figures.some(({ periods }) => periods !== "" && Number(periods) !== 1),
      number(letterWordsOf(language).periods, 1.1, ({ periods, price }) =>
        periods === "" || price === null ? "" : `× ${quantityText(periods, language)}`
      )
    ),
    ...optional(
      figures.some((one) => Number(one.discount_percent ?? 0) !== 0 || one.rule_discount !== 0),
      number(words.discount, 1.3, ({ discount_percent, rule_discount }, money) =>
        Number(discount_percent ?? 0) === 0
          ? rule_discount === 0
            ? ""
            : money(-rule_discount)
          : percentText(discount_percent ?? "0", language)
      )
    ),
    number(words.tax, 0.9, ({ amount, price, tax_rate }) =>
      tax_rate === null || (price === null && amount === 0) ? "" : percentText(tax_rate, language)
    ),
    number(is_gross ? words.gross : words.net, 1.8, ({ amount, price }, money) =>
      price === null && amount === 0 ? "" : money(amount)
    )
  ]
}

// Reads the input of a quotation or order confirmation, in a fixed number of queries.

export interface SalesFacts extends SalesSource, CommonFacts, CustomerFacts, PricedJobFacts {
  readonly source: DocumentSource
  readonly version: VersionRow | undefined
  readonly deposits: ReadonlyArray<Deposit>
  /** Lines of the delivery address; empty without one. */
  readonly delivery: ReadonlyArray<string>
  readonly collection: ReadonlyArray<string>
}

/** Lines of both addresses. Collection defaults to the delivery's, and both to the venue's primary or first address. */
export const placesOf = Effect.fnUntraced(function* (
  { collection_address_id, delivery_address_id, venue_id }: OpportunityRow,
  home: string | null
): Store.Reads<{ readonly delivery: ReadonlyArray<string>; readonly collection: ReadonlyArray<string> }> {
  const named = yield* Store.getMany(
    addresses,
    [delivery_address_id, collection_address_id].filter((id) => id !== null)
  )
  const of_venue = venue_id === null ? [] : yield* Store.find(addresses, { member_id: venue_id }, { order: ["id"] })
  const at_venue = of_venue.find(({ is_primary }) => is_primary) ?? of_venue[0]
  const codes = new Map(
    (yield* Store.getMany(
      countries,
      [...named, ...of_venue].flatMap(({ country_id }) => country_id ?? [])
    )).map(({ code, id }) => [id, code])
  )
  const linesOf = (address: RowOf<typeof addresses> | undefined): ReadonlyArray<string> =>
    address === undefined
      ? []
      : addressLines({ ...address, country_code: codes.get(address.country_id ?? 0) ?? null }, home)
  const byId = (id: number | null) => named.find((one) => one.id === id)
  return {
    delivery: linesOf(byId(delivery_address_id) ?? at_venue),
    collection: linesOf(byId(collection_address_id) ?? byId(delivery_address_id) ?? at_venue)
  }
})

export const salesFacts = Effect.fnUntraced(function* (
  source: DocumentSource,
  header: OpportunityRow,
  settings: Settings
): Store.Reads<SalesFacts> {
  const { member_id, venue_id } = header
  const [member, venue] = yield* membersOf([member_id, venue_id])
  const charged = yield* chargedSource(header, member?.sale_tax_class_id ?? null)
  const version =
    header.active_version_id === 0 ? undefined : yield* Store.get(opportunity_versions, header.active_version_id)
  const seller = yield* sellerOf(source.store_id ?? header.store_id, settings)
  const buyer: NamedParty | null = member_id === null ? null : yield* buyerOf(member_id)
  const places = yield* placesOf(header, seller.country_code)
  return {
    source,
    header,
    version,
    lines: charged.lines,
    costs: charged.costs,
    billed: billedRows(charged, { id: 0, currency_code: header.currency_code }),
    totals: charged.totals,
    deposits: yield* depositsOf(header),
    seller,
    buyer: buyer ?? nobody,
    is_organisation: member?.membership_type === "organisation",
    venue: venue?.name ?? null,
    ...places,
    delivery_address: places.delivery.join(", ") || null,
    rental_days: String(chargeableDays(header, header)),
    website: settingText(settings, "company", "website") || null,
    document: {
      number: source.document_number,
      date: source.now,
      due_date: header.quote_invalid_at,
      terms: settingText(settings, "invoicing", "terms").trim() || null,
      notes: header.external_description
    }
  }
})

const membersOf = Effect.fnUntraced(function* (ids: ReadonlyArray<number | null>) {
  const found = yield* Store.getMany(
    members,
    ids.filter((id) => id !== null)
  )
  return ids.map((id) => found.find((one) => one.id === id))
})
