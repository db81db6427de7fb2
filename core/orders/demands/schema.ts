/**
 * Demands: stock needed by opportunity lines and packed units, one row each (rules/availability 2.1). The table is
 * called `claims`, its name in release 0.1, which reports and devices use. In SQL, write `demands.name`.
 */
import { boolean, choice, eventType, follow, insert, insertRow, integer, plainTable, ref } from "../../kernel/index.ts"
import { removeWhere, storedValue, streamOf, table, text, timestamp, updateWhere } from "../../kernel/index.ts"
import { wholeRow, type NewEvent, type RowOf, type Slice, type Store } from "../../kernel/index.ts"
import { openEnd } from "../../values/time.ts"
import { Effect, Schema } from "effect"
import { lockIfFree } from "../../kernel/runtime/locks.ts"

/** Source type of demands and supplies of transfers between stores. */
export const transfer_source = "store_transfer"
const of_transfer = {
  column: "source_id",
  where: { source_type: transfer_source },
  table: "transfers",
  rule: { on_delete: "handled" }
} as const
const visibility = {
  all_columns: [
    "availability.view",
    "containers.*",
    "kits.*",
    "opportunities.*",
    "settings.manage",
    "shortages.*",
    "stock.*"
  ]
}
/** Conditions of demands that block deleting their store or unit: active, awaiting a check, draft or held. */
const live = [
  { is_active: true },
  { pending_checkin: true, phase: ["draft", "held", "reserved", "on_hire"] },
  { phase: ["draft", "held"] }
]

export const demands = table(
  "claims",
  {
    product_id: ref("products", { on_delete: "keep", on_merge: "follow_updated", merge_while: { is_active: true } }),
    store_id: ref("stores", {
      on_delete: "refuse",
      while: live,
      way_out: "end that hire or give it another store first"
    }),
    asset_id: ref("stock_levels", {
      nullable: true,
      on_delete: "refuse",
      while: live,
      way_out: "release the unit first"
    }),
    quantity: integer({ min: 1 }),
    starts_at: timestamp(),
    ends_at: timestamp(),
    buffered_starts_at: timestamp(),
    buffered_ends_at: timestamp(),
    source_type: text(),
    source_id: integer(),
    phase: choice({
      draft: "Draft",
      held: "Held",
      reserved: "Reserved",
      on_hire: "On Hire",
      closed: "Closed",
      void: "Void"
    }),
    is_active: boolean(),
    out: boolean(),
    pending_checkin: boolean(),
    returned_at: timestamp({ nullable: true }),
    checked_at: timestamp({ nullable: true }),
    opportunity_id: ref("opportunities", { nullable: true, live: false, on_delete: "keep" }),
    container_id: ref("containers", { nullable: true, on_delete: "handled" }),
    /**
     * The last instant at which the row affects any figure; null if it affects none. Its index finds the demands
     * relevant to a window, however many older ones there are.
     */
    reaches_to: timestamp({ nullable: true, computed: true, hidden: true })
  },
  {
    lease_block_size: 2_000,
    occupancy: {
      active: "is_active",
      thing: "asset_id",
      kind: "product_id",
      quantity: "quantity",
      from: "starts_at",
      to: "ends_at",
      holders: ["opportunity_id", "container_id"],
      wanted: { field: "shortages", table: "opportunity_items", holder: "opportunity_id", kind: "item_id" }
    },
    visibility,
    indexes: [
      // With both ends of the window, demands outside it are skipped without reading their rows.
      ["product_id", "store_id", "reaches_to", "buffered_starts_at"],
      ["store_id", "reaches_to"],
      ["asset_id", "reaches_to"],
      ["source_type", "source_id"],
      ["opportunity_id"],
      ["container_id"]
    ],
    references: [
      {
        column: "source_id",
        where: { source_type: "opportunity_item" },
        table: "opportunity_items",
        rule: { on_delete: "handled" }
      },
      {
        column: "source_id",
        where: { source_type: "container" },
        table: "container_items",
        rule: { on_delete: "handled" }
      },
      of_transfer
    ],
    no_overlap: [
      {
        name: "claims_asset_overlap",
        key: "asset_id",
        from: "buffered_starts_at",
        to: "buffered_ends_at",
        active: "is_active"
      }
    ]
  }
)
type StoredDemand = RowOf<typeof demands>
/** A demand without `reaches_to`, which is computed from the rest and only used in queries. */
export type DemandRow = { readonly [C in keyof StoredDemand as C extends "reaches_to" ? never : C]: StoredDemand[C] }

type RelevanceFields = Pick<DemandRow, "is_active" | "out" | "pending_checkin" | "buffered_ends_at" | "checked_at">
/**
 * The value of `reaches_to`: null if never relevant. Active demands: the end with buffers, or `openEnd` while a unit is
 * out and may be late. `openEnd` while a returned unit waits for its check; otherwise the later of end and check.
 */
export const relevantUntil = (demand: RelevanceFields): string | null => {
  if (demand.pending_checkin || (demand.is_active && demand.out)) return openEnd
  const end = demand.is_active ? demand.buffered_ends_at : null
  return end === null || (demand.checked_at !== null && demand.checked_at > end) ? demand.checked_at : end
}

/**
 * Streams with events about a product's stock, demands, supplies, parts or cases. Queries about an earlier time
 * (`as_of`) read only these streams, not the entire journal.
 */
export const product_streams = plainTable(
  "product_streams",
  "key",
  { key: text(), product_id: ref("products", { on_delete: "keep" }), stream: text() },
  { visibility: { all_columns: ["availability.view"] }, indexes: [["product_id"]], on_conflict_ignore: true }
)
const rememberStream = (product_id: number, stream: string) =>
  insert(product_streams, { key: `${product_id}/${stream}`, product_id, stream })
/**
 * Stores that each stock level was ever at, so that a product whose last level is gone is still listed with 0 of 0.
 * Rows outlive the level. Only the row of the level's creation has a `product_id`; those of later stores have null.
 */
export const stock_places = plainTable(
  "stock_places",
  "key",
  {
    key: text(),
    stock_level_id: ref("stock_levels", { on_delete: "keep" }),
    product_id: ref("products", { nullable: true, on_delete: "keep", on_merge: "follow" }),
    store_id: ref("stores", { on_delete: "keep" })
  },
  {
    visibility: { all_columns: ["availability.view"] },
    indexes: [["product_id"], ["stock_level_id"], ["store_id"]],
    on_conflict_ignore: true
  }
)
const rememberPlace = (stock_level_id: number, product_id: number | null, store_id: number) =>
  insert(stock_places, { key: `${stock_level_id}/${store_id}`, stock_level_id, product_id, store_id })

/** Phases of demands, with labels (rules/availability 2.3). */
export const phase_labels = {
  draft: "Draft",
  held: "Held",
  reserved: "Reserved",
  on_hire: "On hire",
  closed: "Closed",
  void: "Void"
} as const
/** Effect of a demand on stock, by the status of its opportunity, container or transfer. */
export type Phase = keyof typeof phase_labels

/**
 * A demand as rules read it, stored or computed. Quantities are whole units, instants ISO 8601 in UTC; `openEnd` means
 * no known end.
 */
export interface Demand {
  readonly id: number
  readonly product_id: number
  readonly store_id: number
  /** The demanded serialised stock level; null if any unit of the product will do. */
  readonly asset_id: number | null
  /** 1 with `asset_id`; 0 for a unit out of service that its case or hire demands anyway. */
  readonly quantity: number
  readonly starts_at: string
  readonly ends_at: string
  /**
   * The window with the product's buffers at the time of writing; later edits of the product do not change it. Null: no
   * buffers.
   */
  readonly buffered_starts_at: string | null
  readonly buffered_ends_at: string | null
  readonly source_type: string
  readonly source_id: number
  readonly phase: Phase
  readonly is_active: boolean
  /** Whether goods are dispatched and not yet returned (with release point `checked`: not yet checked). */
  readonly out: boolean
  /** Whether the unit is returned and not yet checked. */
  readonly pending_checkin: boolean
  readonly returned_at: string | null
  readonly checked_at: string | null
  readonly opportunity_id: number | null
  readonly container_id: number | null
}

export type NewDemand = Omit<Demand, "id">

// Locks of demanded products, which serialise commands that demand the same (Postgres; SQLite has a single writer).

/** Number of locks that all products share: Postgres has room for a few thousand over all transactions. */
const locks_max = 1_024

const namesOf = (product_ids: Iterable<number>): ReadonlyArray<string> =>
  [...product_ids].map((id) => `claims:${id % locks_max}`)

/**
 * Locks these products against demands of other commands until the transaction ends, and those `read` against changes
 * of demands. Call it before reading availability, so that the second command sees the first one's demands.
 */
export const lockClaims = Effect.fnUntraced(function* (
  claimed: Iterable<number>,
  read: Iterable<number> = []
): Store.Reads<void> {
  const names = namesOf(claimed)
  const own = new Set(names)
  yield* lockIfFree(names)
  yield* lockIfFree(
    namesOf(read).filter((name) => !own.has(name)),
    { shared: true }
  )
})

// Events of demands (rules/availability 2.1). The journal has the names of release 0.1: `claims.set`, `claims.phased`
// and the list `claims`. The slice also records the streams and stores of each product's history.

const source = () => ({ source_type: Schema.String, source_id: Schema.Int })

/** Stream of the demand's source: the opportunity, or else the container with the unit, or the transfer. */
const ownerOf = ({
  container_id,
  opportunity_id,
  source_id,
  source_type
}: Pick<DemandRow, "container_id" | "opportunity_id" | "source_id" | "source_type">): string | undefined =>
  typeof opportunity_id === "number"
    ? streamOf("opportunity", opportunity_id)
    : typeof container_id === "number"
      ? streamOf("container", container_id)
      : source_type === transfer_source
        ? streamOf("transfer", source_id)
        : undefined

/** Recorded in the stream of the opportunity, container or transfer that the source belongs to. */
export const demandsReplacedEvent = eventType("claims.set", {
  meaning: "The new demands of one source on stock, replacing its earlier ones; an empty list releases all.",
  data: () => Schema.Struct({ ...source(), claims: Schema.Array(wholeRow(demands, "reaches_to")) }),
  project: ({ source_type, source_id, claims: replacements }, { recorded_at }) => [
    removeWhere(demands, { source_type, source_id }),
    ...replacements.map((demand) => insertRow(demands, { ...demand, reaches_to: relevantUntil(demand) }, recorded_at)),
    ...replacements.flatMap((demand) => {
      const owner = ownerOf(demand)
      return owner === undefined ? [] : [rememberStream(demand.product_id, owner)]
    })
  ]
})
/** Replaces all demands of one source; an empty list releases everything. */
export const demandsReplaced = (
  stream: string,
  source_type: string,
  source_id: number,
  replacements: ReadonlyArray<NewDemand & { readonly id: number }>
): NewEvent =>
  demandsReplacedEvent.make(
    {
      source_type,
      source_id,
      claims: replacements.map((demand) => ({
        ...demand,
        buffered_starts_at: demand.buffered_starts_at ?? demand.starts_at,
        buffered_ends_at: demand.buffered_ends_at ?? demand.ends_at
      }))
    },
    stream
  )

const demandsPhaseChangedEvent = eventType("claims.phased", {
  meaning: "All demands of these sources on stock entered another phase.",
  data: () =>
    Schema.Struct({
      source_type: Schema.String,
      source_ids: Schema.Array(Schema.Int),
      phase: storedValue(demands.columns.phase)
    }),
  project: ({ phase, source_ids, source_type }, { recorded_at }) => [
    updateWhere(demands, { source_type, source_id: source_ids }, { phase, updated_at: recorded_at })
  ]
})
/** Moves all demands of these sources to another phase; nothing else changes. */
export const demandsPhaseChanged = (
  stream: string,
  source_type: string,
  source_ids: ReadonlyArray<number>,
  phase: NewDemand["phase"]
): NewEvent => demandsPhaseChangedEvent.make({ source_type, source_ids, phase }, stream)

const level = () => Schema.Struct({ id: Schema.Int, product_id: Schema.Int, store_id: Schema.Int })
const movedLevel = () => Schema.Struct({ id: Schema.Int, store_id: Schema.optionalKey(Schema.Int) })
const ofProduct = () => Schema.Struct({ id: Schema.Int, product_id: Schema.optionalKey(Schema.NullOr(Schema.Int)) })
/** Records that this row's stream concerns its product, if it has one. */
const productStream =
  (entity: string) =>
  ({ id, product_id }: ReturnType<typeof ofProduct>["Type"]) =>
    product_id === undefined || product_id === null ? [] : [rememberStream(product_id, streamOf(entity, id))]

// Supplies: goods on their way to a store, which count there from their arrival (rules/transfers 3).

export const supplies = table(
  "supplies",
  {
    product_id: ref("products", { on_delete: "keep", on_merge: "follow" }),
    store_id: ref("stores", { on_delete: "refuse", way_out: "receive or cancel the transfer first" }),
    quantity: integer({ min: 1 }),
    starts_at: timestamp(),
    ends_at: timestamp({ nullable: true }),
    source_type: text(),
    source_id: integer()
  },
  {
    lease_block_size: 100,
    visibility,
    indexes: [
      ["store_id", "product_id"],
      ["source_type", "source_id"]
    ],
    references: [of_transfer]
  }
)

export const suppliesReplacedEvent = eventType("supplies.set", {
  meaning: "The new supplies of one source to stores, replacing its earlier ones; an empty list ends all.",
  data: () => Schema.Struct({ ...source(), supplies: Schema.Array(wholeRow(supplies)) }),
  project: ({ source_id, source_type, supplies: rows }, { recorded_at }) => [
    removeWhere(supplies, { source_type, source_id }),
    ...rows.map((row) => insertRow(supplies, row, recorded_at)),
    ...rows.map(({ product_id }) => rememberStream(product_id, streamOf("transfer", source_id)))
  ]
})

export const demandsEvents = [demandsReplacedEvent, demandsPhaseChangedEvent, suppliesReplacedEvent]

export const demandsSlice: Slice = {
  name: "demands",
  tables: [demands, product_streams, stock_places, supplies],
  events: demandsEvents,
  follows: [
    follow("stock_level.created", level, (made) => [
      ...productStream("stock_level")(made),
      rememberPlace(made.id, made.product_id, made.store_id)
    ]),
    follow("stock_level.updated", movedLevel, ({ id, store_id }) =>
      store_id === undefined ? [] : [rememberPlace(id, null, store_id)]
    ),
    follow("component.created", ofProduct, productStream("component")),
    follow("component.updated", ofProduct, productStream("component")),
    follow("container.created", ofProduct, productStream("container"))
  ]
}
