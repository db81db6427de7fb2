/**
 * Mailing an invoice (rules/billing 1.3). The command is recorded on server or device; the server that receives it
 * queues the message in the same transaction. The journal does not record addresses.
 */
import { Context, Effect, Result, Schema } from "effect"
import { boolean, command, CommandRuntime, invalid, json, longText, ok, reject } from "../kernel/index.ts"
import { list, renderById, Shown, Store, text, viewContext } from "../kernel/index.ts"
import type { Failure, FieldErrors, Input, Json, StoreRead } from "../kernel/index.ts"
import { emails } from "../people/members/schema.ts"
import { addresses_max, mailAddressesIn } from "../values/mail-address.ts"
import { invoiceChange, invoiceEmailed } from "./state/events.ts"
import { billingTypeIds, chosenContact } from "./state/parties.ts"
import { one, path, write } from "./state/fields.ts"
import { invoiceResource } from "./state/resources.ts"

export const invoiceMail = Schema.Struct({
  invoice_id: Schema.Int,
  /** Time of the request; with the invoice it identifies the message. */
  emailed_at: Schema.String,
  to: Schema.Array(Schema.String),
  cc: Schema.Array(Schema.String),
  /** Subject and text; null for those of the settings. */
  subject: Schema.NullOr(Schema.String),
  message: Schema.NullOr(Schema.String),
  sender_user_id: Schema.Int
})
export type InvoiceMail = typeof invoiceMail.Type

/** Queues the message, with warnings. Devices have none and send the command to a server. */
export const InvoiceMailer = Context.Reference<(mail: InvoiceMail) => StoreRead<ReadonlyArray<string>>>(
  "flightcase/InvoiceMailer",
  { defaultValue: () => () => Effect.succeed([]) }
)

/** A message has at most 100 recipients, including a store's blind copy. */
const recipients_max = 99
const addresses = () =>
  json<Json>({ form: "any", nullable: true, describe: `An e-mail address, or a list of up to ${addresses_max}` })
const fields = {
  to: addresses(),
  cc: addresses(),
  subject: text({ nullable: true, max: 255 }),
  message: longText({ nullable: true, max: 5_000, describe: "Text of the e-mail; default: as in the settings" })
}

interface Facts {
  /** The member's e-mail address for bills, else the primary, else the first; undefined without any. */
  readonly known: string | undefined
  /** True on devices whose user may not see addresses; the server looks one up. */
  readonly is_withheld: boolean
}
const sees_addresses = /^members\./
const factsOf = (input: Input<typeof one, typeof fields>): Effect.Effect<Facts, Failure, Store | CommandRuntime> =>
  Effect.gen(function* () {
    const { viewer } = input
    const { role } = yield* CommandRuntime
    const is_withheld =
      role === "replica" && !viewer.is_owner && ![...viewer.permissions].some((key) => sees_addresses.test(key))
    const { member_id } = input.rows.id
    const rows = yield* Store.find(emails, { member_id }, { order: ["id"] })
    return { known: chosenContact(rows, yield* billingTypeIds)?.address, is_withheld }
  })

/** A time after `last`, so that repeated messages about one invoice differ and are all sent. */
const momentAfter = (now: string, last: string | null): string =>
  last !== null && last >= now ? new Date(Date.parse(last) + 1).toISOString() : now

export const emailInvoice = command("POST", `${path}/{id}/email`, {
  answer: {
    invoice: Shown.row(() => invoiceResource),
    meta: Shown.keys({ is_mailed: boolean(), warnings: list(text()) })
  },
  name: "invoices.email",
  summary: "Send an invoice by e-mail, with its PDF",
  ability: write,
  permission: "invoices.edit",
  params: one,
  fields,
  facts: factsOf,
  decide: ({ is_withheld, known }: Facts, { rows: { id: invoice }, values, viewer }, { now }) => {
    if (invoice.status === "draft") return reject("status", "A draft cannot be sent: issue the invoice first.")
    const errors: { [field: string]: ReadonlyArray<string> } = {}
    const given = mailAddressesIn("to", values.to, errors)
    const cc = mailAddressesIn("cc", values.cc, errors) ?? []
    if (given === undefined && known === undefined && !is_withheld)
      errors["to"] = ["The to field is required: the member has no e-mail address."]
    const recipients = new Set([...(given ?? []), ...cc]).size
    if (Object.keys(errors).length === 0 && recipients > recipients_max)
      errors["cc"] = [
        `The to and cc fields must not have more than ${recipients_max} addresses together; ` +
          "send the rest in another message."
      ]
    if (Object.keys(errors).length > 0) return Result.fail(invalid(errors satisfies FieldErrors))
    const emailed_at = momentAfter(now, invoice.emailed_at)
    return Result.succeed({
      events: [invoiceEmailed.make(invoiceChange(invoice, { emailed_at }))],
      result: {
        invoice_id: invoice.id,
        emailed_at,
        to: given ?? (known === undefined ? [] : [known]),
        cc,
        subject: values.subject || null,
        message: values.message || null,
        sender_user_id: viewer.user_id
      }
    })
  },
  result: invoiceMail,
  respond: Effect.fnUntraced(function* (mail, input) {
    const meta = { is_mailed: true, warnings: yield* (yield* InvoiceMailer)(mail) }
    return ok({ ...(yield* renderById(invoiceResource, mail.invoice_id, input.query, viewContext(input))), meta })
  })
})
