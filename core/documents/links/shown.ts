/** How answers show the public address of a document, and how acceptances are shown (rules/billing 3). */
import { Effect, Option } from "effect"
import { CommandRuntime } from "../../kernel/command-runtime.ts"
import { boolean, text, timestamp } from "../../kernel/field.ts"
import { resource } from "../../kernel/resource.ts"
import { type Settings, settingText } from "../../kernel/settings.ts"
import { document_acceptances, type DocumentLinkRow } from "../schema.ts"

export const public_link_shown = {
  token: text(),
  url: text({ describe: "Where somebody without an account reads the document" }),
  expires_at: timestamp({ nullable: true }),
  requires_pin: boolean(),
  created_at: timestamp()
}
/** The address of a link: below the server's own, or below what the settings say leads there. */
export const linkAddress = (token: string, settings: Settings, public_url: string): string => {
  const prefix = settingText(settings, "documents", "public_link_prefix").trim() || `${public_url}/d`
  return `${prefix.replace(/\/+$/, "")}/${token}`
}
export const publicLinkShown = (
  { created_at, expires_at, requires_pin, token }: DocumentLinkRow,
  settings: Settings,
  public_url: string
) => ({ token, url: linkAddress(token, settings, public_url), expires_at, requires_pin, created_at })

/** The server's address; empty on a device that was never told one. */
export const publicUrl: Effect.Effect<string> = Effect.map(Effect.serviceOption(CommandRuntime), (runtime) =>
  Option.match(runtime, { onNone: () => "", onSome: ({ public_url }) => public_url?.() ?? "" })
)

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
