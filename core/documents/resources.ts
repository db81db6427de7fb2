/** How answers show documents (rules/billing 3). */
import { Effect, Option } from "effect"
import * as Shown from "../kernel/answer-schema.ts"
import { CommandRuntime } from "../kernel/command-runtime.ts"
import { boolean, text, timestamp } from "../kernel/field.ts"
import { type Resource, resource } from "../kernel/resource.ts"
import type { Settings } from "../kernel/settings.ts"
import { Store } from "../kernel/store/store.ts"
import { hasOnePermission } from "../kernel/viewer.ts"
import { stores } from "../stores/stores.ts"
import { seesDocument } from "./decide.ts"
import { linkAddress } from "./links/address.ts"
import { document_links, type DocumentLinkRow, document_statuses, documents, type DocumentStatus } from "./schema.ts"
import { documentable_types, document_types } from "./types.ts"

/** Statuses in which there is something to read. */
export const readable_statuses: ReadonlyArray<DocumentStatus> = ["generated", "finalised"]

/** The newest public address of each of these documents: one query for a page of them. */
const newestLinks = Effect.fnUntraced(function* (document_ids: ReadonlyArray<number>) {
  if (document_ids.length === 0) return new Map<number, DocumentLinkRow>()
  const rows = yield* (yield* Store).find(
    document_links,
    { document_id: document_ids, deleted_at: null },
    { order: ["id"] }
  )
  return new Map(rows.map((row) => [row.document_id, row]))
})
/** Addresses are the server's to give. */
const addresses = Effect.map(Effect.serviceOption(CommandRuntime), (runtime) =>
  Option.match(runtime, {
    onNone: () => ({ file_url: undefined, public_url: undefined }),
    onSome: ({ file_url, public_url, role }) => ({ file_url, public_url: role === "server" ? public_url : undefined })
  })
)

const public_link_keys = {
  token: text({ max: 64 }),
  url: text({ nullable: true, max: 2_000, describe: "Its page; null on a device" }),
  expires_at: timestamp({ nullable: true }),
  requires_pin: boolean(),
  created_at: timestamp()
}
export const publicLinkShown = Shown.keys(public_link_keys, { nullable: true })
/** A public address as answers give it. */
export const publicLinkOut = (
  { created_at, expires_at, requires_pin, token }: DocumentLinkRow,
  settings: Settings,
  public_url: (() => string) | undefined
) => ({
  token,
  url: public_url === undefined ? null : linkAddress(token, settings, public_url()),
  expires_at,
  requires_pin,
  created_at
})

const labelled = <L extends { readonly [key: string]: string }>(column: string, labels: L) =>
  Object.entries(labels).flatMap(([value, label]) =>
    [value, label].map((name) => ({ name, where: { [column]: value } }))
  )
const type_names = Object.fromEntries(Object.entries(document_types).map(([key, { name }]) => [key, name]))

export const documentResource: Resource<typeof documents, "document"> = resource({
  singular: "document",
  heading: "Deals",
  called: { by: ["document_number"] },
  table: documents,
  aliases: { type: "document_type" },
  filters: [
    "document_number",
    "document_type",
    "status",
    "documentable_type",
    "documentable_id",
    "store_id",
    "created_at",
    "finalised_at",
    "generated_at",
    "updated_at"
  ],
  sorts: ["document_number", "status", "document_type", "created_at", "generated_at", "finalised_at", "updated_at"],
  value_names: {
    document_type: labelled("document_type", type_names),
    documentable_type: labelled("documentable_type", documentable_types),
    status: labelled("status", document_statuses)
  },
  related: { "store.name": { via: "store_id", table: stores, column: "name" } },
  includes: { store: { kind: "brief", via: "store_id", table: stores } },
  shows: {
    document_type_name: text(),
    status_name: text(),
    download_url: text({
      nullable: true,
      max: 2_000,
      describe:
        "A signed address that reads the PDF for an hour without a token; null where there is none to read, " +
        "without documents.view (of orders to suppliers without costs.view), and on a device"
    }),
    public_link: publicLinkShown
  },
  load: (rows) =>
    Effect.all({ addresses, links: newestLinks(rows.filter(({ status }) => status !== "voided").map(({ id }) => id)) }),
  view: (base, row, _related, { now, settings, viewer }, { addresses: { file_url, public_url }, links }) => {
    const link = links.get(row.id)
    const is_seen = seesDocument(row, viewer)
    const is_readable =
      is_seen &&
      row.uuid !== null &&
      readable_statuses.includes(row.status) &&
      hasOnePermission(viewer, "documents.view")
    return {
      ...base,
      document_type_name: document_types[row.document_type].name,
      status_name: document_statuses[row.status],
      download_url: is_readable && row.uuid !== null ? (file_url?.(row.uuid, now) ?? null) : null,
      public_link: link === undefined || !is_seen ? null : publicLinkOut(link, settings, public_url)
    }
  }
})
