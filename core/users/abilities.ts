/** What a token can be good for, spelt as the interface spells it (rules/conventions 11). */
const words = (text: string): ReadonlyArray<string> => text.trim().split(/\s+/)
const readAndWrite = (areas: string): ReadonlyArray<string> =>
  words(areas).flatMap((area) => [`${area}:read`, `${area}:write`])

export const abilities: ReadonlyArray<string> = [
  ...readAndWrite(`members exchange_rates products stock stores containers kits activities opportunities shortages rates pricing
    custom-fields custom-views static-data tax-classes settings users roles tokens sync invoices purchase_orders documents
    notification-preferences notification-settings`),
  ...words(`countries:read currencies:read availability:read schema:read system:read action-log:read webhooks:manage
    payments:write credit-notes:read api-usage:read api-log:read`)
].sort()
