/** Abilities that tokens can be issued with (rules/conventions 11). */
import type { Catalogue } from "../kernel/catalogue.ts"

const words = (text: string): ReadonlyArray<string> => text.trim().split(/\s+/)
const readAndWrite = (areas: string): ReadonlyArray<string> =>
  words(areas).flatMap((area) => [`${area}:read`, `${area}:write`])

/** Spelt as the interface spells them, those of parts that are still to come included. */
const interface_abilities: ReadonlyArray<string> = [
  ...readAndWrite(`members exchange_rates products stock stores containers kits activities opportunities shortages rates pricing
    custom-fields custom-views static-data tax-classes settings users roles tokens sync invoices purchase_orders documents
    notifications notification-preferences notification-settings boards`),
  ...words(`countries:read currencies:read availability:read schema:read system:read system:write action-log:read
    webhooks:manage payments:write credit-notes:read api-usage:read api-log:read`)
]

/**
 * The interface's abilities and every ability some endpoint asks for, in alphabetical order, without `*`, which stands
 * for all of them.
 */
export const abilitiesOf = ({ endpoints }: Catalogue): ReadonlyArray<string> => {
  const asked_for = endpoints.flatMap(({ ability }) => ability ?? [])
  return [...new Set([...interface_abilities, ...asked_for])].filter((ability) => ability !== "*").sort()
}
