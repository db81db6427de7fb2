/** Output of order writes: the order as in `orders show`, and warnings. */
import type { QueryResult } from "../../sync/device/device.ts"
import { rowIn } from "../base/answers.ts"
import type { CommandContext } from "../context/context.ts"
import { orderText } from "../output/order.ts"
import { notePending, noteWarnings } from "../context/print.ts"

export const printBrief = async (context: CommandContext, answer: QueryResult): Promise<void> => {
  context.print(orderText(context.terminal, rowIn(answer.body, "opportunity")))
  noteWarnings(context, answer.body)
  notePending(context, answer)
}
