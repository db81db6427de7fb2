/** Texts of flags, arguments and groups that declare none, from their names. Only help loads them. */
import type { Argument, Command, Option } from "commander"

/** Texts by flag or argument; `{}` is the noun, as in "of the order", for `create`, `update` and `add`. */
const texts: { readonly [name: string]: string } = {
  "abilities": "abilities of the token, such as products:read",
  "accent": "colour of headings and rules, such as #1f4e79",
  "action": "step to take",
  "allocations": "units and the lines they are allocated to, as a list",
  "all": "fetch all pages",
  "amount": "amount{}",
  "archived": "include deleted rows, or list only them",
  "asset": "allocated unit, by the id of its assignment",
  "asset-ids": "ids of the units' assignments, such as 4,7",
  "auto-apply": "whether the rule applies without being chosen",
  "binding": "pool: parts come from stock; fixed: they are always in its case",
  "charge-ends-at": "end of the period that is charged",
  "charge-starts-at": "start of the period that is charged",
  "chargeable-days": "number of days to charge, with use-chargeable-days",
  "completed": "whether the activity is completed",
  "condition": "condition of the goods that came back",
  "criteria": "conditions of the rule, as JSON",
  "custom-fields": "custom fields by name, as JSON",
  "customer-collecting": "whether the customer collects the goods",
  "customer-returning": "whether the customer brings the goods back",
  "data": "body as JSON, @FILE or @-; flags override it",
  "deal-total": "agreed price of the whole order, without tax",
  "direction": "out: book out; in: check in",
  "discount-rule-ids": "ids of the discount rules that apply, such as 2,5",
  "discountable": "whether discounts apply",
  "enabled-modifiers": "modifiers of the rate, by name",
  "external-description": "description that the customer sees",
  "filters": "conditions of the view, as JSON",
  "finalise": "also check the returned goods, as good unless condition is given",
  "from": "start of the period",
  "group": "group of settings, such as company",
  "include": "related records to include",
  "invoiced": "whether the order counts as invoiced",
  "is-cash": "whether the customer pays at once, without credit",
  "is-on-stop": "whether new orders of the customer are stopped",
  "item": "line, by id",
  "item-id": "product of the line, by id or name",
  "items": "lines or rows, as a JSON list",
  "itemable-id": "the same as item-id",
  "itemable-type": "kind of what item-id names: Product",
  "keys": "keys of the documents, from accounting postings",
  "lawful-basis-type-id": "legal basis for keeping the personal data",
  "lines": "lines, as a JSON list",
  "locale": "language and number format, such as en-GB",
  "location": "place{}",
  "mapping-id": "id of the record in another program",
  "materialize-included-accessories": "also add the product's included accessories as lines",
  "max-discount-amount": "highest discount the rule may give",
  "metadata": "any other data, as JSON",
  "modifiers": "rate modifiers, by name",
  "mute": "send the participant no notifications",
  "new-quantity": "quantity after the adjustment",
  "nodes": "all lines in their new order and nesting, as a JSON list",
  "open-ended-rental": "whether the hire has no fixed end",
  "output": "output file (default: standard output)",
  "owned-by": "person responsible{}, by id or name",
  "page": "page number, from 1",
  "parent-path": "path of the line to add this one below",
  "per-page": "rows per page, at most 100",
  "plugin-name": "name of the plug-in that owns the field",
  "principal-item-id": "id of the line that the accessory belongs to",
  "prune-orphans": "remove lines that the new order leaves out",
  "quote-invalid-at": "time the quotation expires",
  "rating": "rating of the member, or chance of winning the order, 0 to 5",
  "reason": "reason, kept in the history",
  "regarding-id": "id of the record it is about",
  "regarding-type": "type of the record it is about, such as Member",
  "scanned": "codes scanned at check-in, such as A-1,A-2",
  "secondary-id": "id of the record to merge into this one",
  "sent-via": "way it was sent, such as email",
  "settings": "settings as JSON",
  "shortage-notes": "note kept with the shortages",
  "slots": "places of the case and what belongs in each, as JSON",
  "sort": "sort by this field; -field to reverse",
  "sort-order": "position in lists; lower numbers come first",
  "stackable": "whether the rule combines with other discounts",
  "to": "end of the period",
  "transaction-type": "kind of transaction",
  "use-chargeable-days": "charge chargeable-days instead of the days of the hire",
  "view": "id of a saved view",
  "visibility": "who sees the view",
  "yes": "skip the confirmation",
  "prices-include-tax": "whether prices include tax",
  "track-availability": "whether availability is tracked",
  "accessory-only": "whether it is rented only with another product",
  "included": "whether the accessory is added with its product",
  "is-optional": "whether the line is left out of the total",
  "dry-run": "report the result without writing anything",
  "zero-priced": "whether the accessory is free of charge"
}

/** Descriptions of groups whose names are not clear. */
const purposes: { readonly [word: string]: string } = {
  "abilities": "Abilities that tokens can have",
  "accessories": "Accessories rented along with a product",
  "accounting": "Postings for accounting software",
  "actions": "Changes of all records, with who made them",
  "activities": "Calls, meetings, tasks and other activities",
  "assets": "Allocated units of an order's line",
  "boards": "Wall screens that show the day live",
  "calendar-feeds": "Links to calendars of activities and orders",
  "components": "Components of a kit",
  "container-template": "Planned content of cases of a product",
  "cost-groups": "Groups of costs, for accounting",
  "costs": "Costs of an order, such as delivery",
  "countries": "Countries for addresses",
  "currencies": "Currencies, enabled or not",
  "custom-field-groups": "Groups of custom fields",
  "custom-fields": "Your own fields of members, products and other records",
  "custom-views": "Saved views of lists: filters, columns and sort",
  "deal-price": "Agreed price of a whole order",
  "discount-rules": "Rules for discounts",
  "document-layouts": "Texts, logo and colours of documents",
  "document-types": "Types of documents, and the fields of their texts",
  "endpoints": "Endpoints of the API",
  "events": "Journal events of a restore",
  "exchange-rates": "Exchange rates of currencies",
  "inbound-sources": "Sources of inbound webhooks, such as Stripe, and their deliveries",
  "inspection-dues": "Inspections that units need",
  "inspection-intervals": "Times between inspections, by product",
  "inspection-kinds": "Kinds of inspections, such as PAT",
  "items": "Lines of an order or quotation",
  "jobs": "Background jobs, such as mail: status, retry, removal",
  "labels": "Labels with barcodes for units, cases and bulk products",
  "list-names": "Lists of values, such as types of address",
  "login-codes": "Login by a mailed code",
  "mail": "Test of the mail settings",
  "members": "Customers, suppliers, venues, contacts and staff",
  "notification-preferences": "Notifications a person gets, by type and channel",
  "notification-settings": "The company's defaults for notifications",
  "opportunities": "Quotations and orders, with all verbs of the API",
  "organisation-tax-classes": "Tax classes of customers and suppliers",
  "participants": "People who take part in an order or activity",
  "permissions": "Permissions that roles can grant",
  "products": "Products for rental and sale, with rates and components",
  "rate-definitions": "Ways to calculate prices, such as by day or week",
  "rate-engine": "Strategies, modifiers and presets of rate definitions",
  "relationships": "Relationships between members, such as contacts of a company",
  "request-logs": "Log of API calls and webhooks",
  "restores": "Restore of an export into an empty server",
  "revenue-groups": "Groups of revenue, for accounting",
  "roles": "Roles of users, and their permissions",
  "scan-in": "Check-in by code, without naming the order",
  "search": "Search by words, codes and numbers",
  "service-records": "Repairs, losses and quarantines of units",
  "settings": "Settings of the company and the server",
  "shortage-waits": "Lines on the waiting list for stock",
  "stock-levels": "Serialised units, and quantities of bulk products",
  "stock-transactions": "Purchases, write-offs and other changes of a quantity",
  "stocktakes": "Counts of a store's stock",
  "surcharge-groups": "Groups of surcharges that orders can take",
  "system": "The server: health, checks, restore, test mail",
  "tax-rules": "Tax rates by tax class of customer and product",
  "temporary": "Temporary containers, known by their barcode",
  "tokens": "API tokens",
  "values": "Values of a list",
  "vehicles": "Vehicles for delivery and collection",
  "webhook-events": "Events that webhooks may subscribe to"
}

const singular = (noun: string): string =>
  noun
    .replace(/ies$/, "y")
    .replace(/(ss|x)es$/, "$1")
    .replace(/([^s])s$/, "$1")
    .replaceAll("-", " ")
const phases = /^(prep|load|deliver|setup|show|takedown|collect|unload|deprep)-(start|end)s-at$/

/** Text of a flag or argument from its name, the command and the noun above it. */
const plainText = (made: Option | Argument, command: Command, parent: Command | null): string => {
  const is_option = "long" in made
  const name = is_option ? (made.long ?? "").slice(2) : made.name()
  const noun = singular(parent?.name() ?? "")
  const of = /^(create|update|add)$/.test(command.name()) ? ` of the ${noun}` : ""
  const known = texts[name] ?? texts[`${name}-id`]
  if (known !== undefined && (is_option || !/^(from|to)$/.test(name))) return known.replace("{}", of)
  const phase = phases.exec(name)
  if (phase !== null) return `${phase[2]} of the ${phase[1]} phase`
  const words = name.replace(/-(id|at)$/, "").replaceAll("-", " ")
  if (!is_option) return name === "id" ? `id of the ${noun}` : `${words}, by id, or by name, number or code if any`
  if (/^(start|end)s-at$/.test(name)) return `${words.slice(0, -1)}${of}`
  if (made.flags.endsWith("<id>")) return `${words}${of}, by id or name`
  if (name.startsWith("is-")) return `whether the ${noun} is ${words.slice(3)}`
  if (made.flags.endsWith("[true|false]")) return `yes or no: ${words}`
  if (name.endsWith("-at")) return `time: ${words}`
  return `${words}${of}`
}

/** Fills in missing descriptions of a command and of all below it; a leading `~` stands for the text by the name. */
const addTexts = (command: Command): void => {
  const { parent } = command
  for (const one of [...command.options, ...command.registeredArguments])
    if (one.description === "" || one.description.startsWith("~"))
      one.description = plainText(one, command, parent) + one.description.slice(1)
  for (const inner of command.commands) addTexts(inner)
  if (command.commands.length === 0 || command.description() !== "") return
  const words = command.name() + (parent?.parent === null ? "" : ` of ${parent?.name()}`)
  const named = words.charAt(0).toUpperCase() + words.slice(1).replaceAll("-", " ")
  command.description(purposes[command.name()] ?? named)
}
export const flag_texts = { addTexts, plainText }
