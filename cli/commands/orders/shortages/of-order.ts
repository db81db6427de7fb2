/** `orders shortages`: prints the short and waiting lines of an order. */
import { unpagedMeta } from "../../../../core/kernel/endpoints/resource.ts"
import { rowsIn } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { printAnswer } from "../../../context/print.ts"
import { opportunityPath } from "../shared/show.ts"
import { tellToReplace, withoutOut } from "../shared/to-replace.ts"

export const showShortages = async (context: CommandContext, order: string): Promise<void> => {
  const body = await context.read(`${await opportunityPath(context, order)}/shortages`)
  if (context.options.json === true) return context.printJson(body)
  const [shortages, waiting] = [withoutOut(context, rowsIn(body, "shortages")), rowsIn(body, "waiting")]
  await printAnswer(context, { status: 200, body: { shortages, meta: unpagedMeta(shortages.length) } })
  tellToReplace(context, body)
  if (waiting.length === 0) return
  const quoted = /^[\w:-]+$/.test(order) ? order : `'${order}'`
  if (!context.terminal.is_tty)
    return context.note(`${waiting.length} waiting for goods: flightcase shortages waiting ${quoted} lists them.`)
  context.note("Waiting for goods:")
  await printAnswer(context, { status: 200, body: { waiting, meta: unpagedMeta(waiting.length) } })
}
