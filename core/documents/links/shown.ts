/** How answers show acceptances (rules/billing 3). */
import { Effect, Option } from "effect"
import { CommandRuntime } from "../../kernel/command-runtime.ts"
import { text } from "../../kernel/field.ts"
import { resource } from "../../kernel/resource.ts"
import { document_acceptances } from "../schema.ts"

const addressOf = Effect.map(Effect.serviceOption(CommandRuntime), (runtime) =>
  Option.match(runtime, { onNone: () => undefined, onSome: ({ file_url }) => file_url })
)
export const acceptanceResource = resource({
  singular: "document_acceptance",
  table: document_acceptances,
  filters: ["document_id", "opportunity_id", "accepted_at", "created_at"],
  sorts: ["accepted_at", "created_at"],
  shows: {
    download_url: text({
      nullable: true,
      describe: "The document with its certificate, at a signed address for an hour; null until it is drawn"
    })
  },
  load: () => addressOf,
  view: (base, row, _related, { now }, addressAt) => ({
    ...base,
    download_url: row.uuid === null ? null : (addressAt?.(row.uuid, now) ?? null)
  })
})
