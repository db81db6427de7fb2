/** `units label`: prints labels for units, cases and bulk products. */
import type { Query } from "../../../../core/kernel/index.ts"
import { plainJson, rowsIn } from "../../../base/answers.ts"
import { usageError } from "../../../base/exit-codes.ts"
import type { CommandContext } from "../../../context/context.ts"
import { type Flags, textFlag } from "../../../context/program.ts"
import { idFlag, queryOf } from "../../../context/pages.ts"
import { labelsAsked, writeLabels } from "../../../views/labels.ts"

type Labels = ReturnType<typeof rowsIn<"labels">>
const batch_max = 100

export const labelUnits = async (
  context: CommandContext,
  codes: ReadonlyArray<string>,
  flags: Flags
): Promise<void> => {
  const has_selection = flags.product !== undefined || flags.store !== undefined
  if (codes.length > 0 === has_selection)
    throw usageError("Say what to label: codes, or all units by --product, --store or both.")
  const asked = labelsAsked(textFlag(flags, "symbol") ?? "code128", flags)
  const labels = codes.length > 0 ? await labelsOfCodes(context, codes) : await labelsOfAll(context, flags)
  const file = textFlag(flags, "output")
  if (context.options.json === true) context.printJson({ labels: plainJson(labels) })
  if (context.options.json === true && file === undefined) return
  const to = file ?? (asked.sheet === undefined ? "labels.zpl" : "labels.html")
  await writeLabels(context, "Labels", labels, asked, { file: to, flag: "-o" })
}

const labelsOfCodes = async (context: CommandContext, codes: ReadonlyArray<string>): Promise<Labels> => {
  const labels: Array<Labels[number]> = []
  for (let at = 0; at < codes.length; at += batch_max) {
    const query: Query = codes.slice(at, at + batch_max).map((code) => ["codes[]", code])
    labels.push(...rowsIn(await context.read("/api/v1/labels", query), "labels"))
  }
  return labels
}
const labelsOfAll = async (context: CommandContext, flags: Flags): Promise<Labels> => {
  const query = queryOf({
    product_id: await idFlag(context, flags, "product", "products"),
    store_id: await idFlag(context, flags, "store", "stores")
  })
  const labels: Array<Labels[number]> = []
  for (let page = 1; ; page++) {
    const some = rowsIn(await context.read("/api/v1/labels", [...query, ["page", String(page)]]), "labels")
    labels.push(...some)
    if (some.length < 500) return labels
  }
}
