/**
 * Demands: what opportunity lines and packed units take from stock, one row each (rules/availability 2.1). The table is
 * called `claims`, as in release 0.1: reports and devices read it by that name. SQL names it as `demands.name`.
 */
import type { Store } from "../../kernel/store/store.ts"
import { boolean, choice, integer, ref, text, timestamp } from "../../kernel/fields/field.ts"
import { insert, plainTable, removeWhere, type RowOf, table, updateWhere } from "../../kernel/tables/table.ts"
import { openEnd } from "../../values/time.ts"
import { Effect, Schema } from "effect"
import { lockIfFree } from "../../kernel/runtime/locks.ts"
import type { Slice } from "../../kernel/endpoints/endpoint.ts"
import { eventType, follow, type NewEvent, streamOf } from "../../kernel/events/event-type.ts"
import { storedValue, wholeRow } from "../../kernel/tables/field-schema.ts"

/** Demands that count now, or will once their quotation does. */
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
     * The last instant at which the row can change any figure; null if it changes none. An index over it finds the
     * demands that matter to a window, however many older ones there are.
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
    visibility: {
      all_columns: [
        "availability.view",
        "containers.*",
        "kits.*",
        "opportunities.*",
        "settings.manage",
        "shortages.*",
        "stock.*"
      ]
    },
    indexes: [
      ["product_id", "store_id", "reaches_to"],
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
      }
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
/** A demand as rules see it: `reaches_to` is computed from the rest and serves queries only. */
export type DemandRow = { readonly [C in keyof StoredDemand as C extends "reaches_to" ? never : C]: StoredDemand[C] }

type RelevanceFields = Pick<DemandRow, "is_active" | "out" | "pending_checkin" | "buffered_ends_at" | "checked_at">
/**
 * The value of `reaches_to`. While the demand is active its end with buffers, or no end while a unit is out, because it
 * may come back late; no end either while a returned unit waits for its check; otherwise the later of end and check, if
 * any.
 */
export const relevantUntil = (demand: RelevanceFields): string | null => {
  if (demand.pending_checkin || (demand.is_active && demand.out)) return openEnd
  const end = demand.is_active ? demand.buffered_ends_at : null
  return end === null || (demand.checked_at !== null && demand.checked_at > end) ? demand.checked_at : end
}

/**
 * Streams of the journal that ever changed stock, demands, parts or cases of a product. Answers about an earlier time
 * (`as_of`) read these streams only, not the complete journal.
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
 * Which stores ever had which stock level: a product is listed with 0 of 0 where its last level was deleted or moved
 * away. Rows stay after the level is deleted. `product_id` is null where a level moved in: the row of its creation
 * names it.
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

/** A demand on stock as rules see it: who needs how much of which product, from when to when (rules/availability 2). */
export const phase_labels = {
  draft: "Draft",
  held: "Held",
  reserved: "Reserved",
  on_hire: "On hire",
  closed: "Closed",
  void: "Void"
} as const
/** Effect of the demanding opportunity's or container's status on stock. */
export type Phase = keyof typeof phase_labels

/** One stored demand. Quantities are whole units; instants are ISO 8601 in UTC; `openEnd` means no known end. */
export interface Demand {
  readonly id: number
  readonly product_id: number
  readonly store_id: number
  /** The serialised stock level demanded; null where any units of the product will do. */
  readonly asset_id: number | null
  /** 1 when `asset_id` is set. */
  readonly quantity: number
  readonly starts_at: string
  readonly ends_at: string
  /**
   * The window with buffers as they were when it was written: later edits of the product do not move it. Null: no
   * buffers.
   */
  readonly buffered_starts_at: string | null
  readonly buffered_ends_at: string | null
  readonly source_type: string
  readonly source_id: number
  readonly phase: Phase
  readonly is_active: boolean
  /** At least one of the demanded units was dispatched and has not come back. */
  readonly out: boolean
  /** The unit came back and has not been checked yet. */
  readonly pending_checkin: boolean
  readonly returned_at: string | null
  readonly checked_at: string | null
  readonly opportunity_id: number | null
  readonly container_id: number | null
}

/** A demand that has no id yet. */
export type NewDemand = Omit<Demand, "id">

// Locks of claimed products: a command waits for others that claim the same (Postgres; SQLite has one writer at a
// time).

/** Products share this many locks: Postgres holds some thousands for all transactions together. */
const locks_max = 1_024

const namesOf = (product_ids: Iterable<number>): ReadonlyArray<string> =>
  [...product_ids].map((id) => `claims:${id % locks_max}`)

/**
 * Until the transaction ends, no other command claims these products, nor changes claims on those being `read`. Call it
 * before reading their availability, so that the second command sees the first one's claims.
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

// Events of demands (rules/availability 2.1). Journals keep them as `claims.set` and `claims.phased`, and the list
// inside as `claims`: the names of release 0.1. The slice also records which streams and stores a product's history is
// in.

const source = () => ({ source_type: Schema.String, source_id: Schema.Int })

/** Stream of the demand's source: the booking opportunity, else the container the unit is packed in. */
const ownerOf = ({
  container_id,
  opportunity_id
}: Pick<DemandRow, "container_id" | "opportunity_id">): string | undefined =>
  typeof opportunity_id === "number"
    ? streamOf("opportunity", opportunity_id)
    : typeof container_id === "number"
      ? streamOf("container", container_id)
      : undefined

/** Recorded in the stream of the opportunity or container that the source belongs to. */
export const demandsReplacedEvent = eventType("claims.set", {
  meaning: "The new demands of one source on stock, replacing its earlier ones; an empty list releases all.",
  data: () => Schema.Struct({ ...source(), claims: Schema.Array(wholeRow(demands, "reaches_to")) }),
  project: ({ source_type, source_id, claims: replacements }, { recorded_at }) => [
    removeWhere(demands, { source_type, source_id }),
    ...replacements.map((demand) =>
      insert(demands, {
        ...demand,
        reaches_to: relevantUntil(demand),
        created_at: recorded_at,
        updated_at: recorded_at,
        deleted_at: null
      })
    ),
    ...replacements.flatMap((demand) => {
      const owner = ownerOf(demand)
      return owner === undefined ? [] : [rememberStream(demand.product_id, owner)]
    })
  ]
})
/** All demands of one source from now on, replacing those it had; an empty list releases everything. */
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
/** Every demand of these sources enters another phase; nothing else of them changes. */
export const demandsPhaseChanged = (
  stream: string,
  source_type: string,
  source_ids: ReadonlyArray<number>,
  phase: NewDemand["phase"]
): NewEvent => demandsPhaseChangedEvent.make({ source_type, source_ids, phase }, stream)

const level = () => Schema.Struct({ id: Schema.Int, product_id: Schema.Int, store_id: Schema.Int })
const movedLevel = () => Schema.Struct({ id: Schema.Int, store_id: Schema.optionalKey(Schema.Int) })
const ofProduct = () => Schema.Struct({ id: Schema.Int, product_id: Schema.optionalKey(Schema.NullOr(Schema.Int)) })
/** That the stream of this row concerns its product, where it has one. */
const productStream =
  (entity: string) =>
  ({ id, product_id }: ReturnType<typeof ofProduct>["Type"]) =>
    product_id === undefined || product_id === null ? [] : [rememberStream(product_id, streamOf(entity, id))]

export const demandsEvents = [demandsReplacedEvent, demandsPhaseChangedEvent]

export const demandsSlice: Slice = {
  name: "demands",
  tables: [demands, product_streams, stock_places],
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
