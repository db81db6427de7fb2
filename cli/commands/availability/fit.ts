/** `availability fit`. */
import { Schema } from "effect"
import type { Json } from "../../../core/kernel/json.ts"
import { anyRow, decodeAnswer, decoderOf, objectBody } from "../../answers.ts"
import type { CommandContext } from "../../context.ts"
import { missingFlagError } from "../../exit-codes.ts"
import { column, recordText, tableText } from "../../output/table.ts"
import { formatIn } from "../../parse-time.ts"
import { type Flags, textFlag } from "../../program.ts"
import { resolveStore } from "../../resolve-id.ts"
import { momentGiven, planLines } from "./plan-lines.ts"

const decodeFit = decoderOf(() =>
  Schema.Struct({
    earliest_fit: Schema.Struct({
      bottleneck: Schema.NullOr(anyRow),
      reason: Schema.NullOr(Schema.String),
      window: Schema.NullOr(Schema.Struct({ starts_at: Schema.String, ends_at: Schema.String }))
    })
  })
)

/** Why there is no window, by the API's reason. */
const reasons: { readonly [reason: string]: string } = {
  not_enough: "there are never that many",
  booked: "it is never free for long enough",
  no_common_window: "each fits by itself, all together never",
  window_too_short: "the search leaves no room for so long a hire"
}
/** Prints the first window in which the whole list is free, or why there is none. Nothing is written. */
export const fit = async (context: CommandContext, products: ReadonlyArray<string>, flags: Flags): Promise<void> => {
  const store = await resolveStore(context, textFlag(flags, "store"))
  if (flags["days"] === undefined && flags["minutes"] === undefined)
    throw missingFlagError("--days", "the length of the hire")
  const number = (name: string): { readonly [key: string]: Json } =>
    flags[name] === undefined
      ? {}
      : { [`duration_${name}`]: /^\d+$/.test(String(flags[name])) ? Number(flags[name]) : String(flags[name]) }
  const { body } = await context.ask({
    method: "POST",
    path: "/api/v1/availability/earliest_fit",
    body: {
      store_id: store.id,
      from: momentGiven(context, flags, "from", "the first day of the search", store),
      until: momentGiven(context, flags, "until", "the last day of the search", store),
      lines: (await planLines(context, products)).map((line) => ({ ...line })),
      ...number("days"),
      ...number("minutes"),
      ...(typeof flags["align"] === "string" ? { align: flags["align"] } : {})
    }
  })
  if (context.options.json === true) return context.printJson(objectBody(body))
  const { bottleneck, reason, window } = decodeAnswer(decodeFit, body).earliest_fit
  if (window !== null)
    return context.print(
      recordText(
        { from: formatIn(window.starts_at, store.zone), to: formatIn(window.ends_at, store.zone) },
        context.terminal
      )
    )
  context.note(`No window: ${reasons[reason ?? ""] ?? String(reason)}.`)
  if (bottleneck !== null) {
    context.print(
      tableText(
        [
          column("product_id", "ID"),
          column("product_name", "PRODUCT"),
          column("needed_quantity", "NEEDED"),
          column("most_available", "MOST FREE")
        ],
        [bottleneck],
        context.terminal
      )
    )
  }
}
