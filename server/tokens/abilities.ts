/** The abilities a token can be given beside those some endpoint asks for (conventions 11), spelt as the interface spells them. */
const words = (text: string): ReadonlyArray<string> => text.trim().split(/\s+/)
const both = (text: string): ReadonlyArray<string> => words(text).flatMap((area) => [`${area}:read`, `${area}:write`])

export const known_abilities: ReadonlySet<string> = new Set([
  ...both(`members exchange_rates products stock containers kits activities opportunities shortages rates custom-fields
    static-data tax-classes settings users roles tokens stores sync invoices documents purchase_orders pricing
    notification-preferences notification-settings`),
  ...words(`countries:read currencies:read availability:read schema:read webhooks:manage system:read action-log:read
    payments:write credit-notes:read api-usage:read api-log:read`)
])
