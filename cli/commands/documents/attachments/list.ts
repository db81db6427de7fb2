/** `attachments list`: lists all attachments, or those of a target named as in `attach`. */
import type { Query } from "../../../../core/kernel/lists/query.ts"
import type { CommandContext } from "../../../context/context.ts"
import { printAnswer } from "../../../context/print.ts"
import { wholeList } from "../../../context/pages.ts"
import type { Flags } from "../../../context/program.ts"
import { listQuery } from "../../../context/query.ts"
import { targetNamed } from "../attach/target.ts"

const attachments_path = "/api/v1/attachments"

export const listAttachments = async (
  context: CommandContext,
  named: string | undefined,
  flags: Flags
): Promise<void> => {
  const query: Query = [...(named === undefined ? [] : await ofTarget(context, named)), ...listQuery(flags)]
  if (flags.all !== true)
    return printAnswer(context, await context.ask({ method: "GET", path: attachments_path, query }))
  return printAnswer(context, { status: 200, headers: {}, body: await wholeList(context, attachments_path, query) })
}

const ofTarget = async (context: CommandContext, named: string): Promise<Query> => {
  const { attachable_id, attachable_type } = await targetNamed(context, named)
  return [
    ["q[attachable_type_eq]", attachable_type],
    ["q[attachable_id_eq]", String(attachable_id)]
  ]
}
