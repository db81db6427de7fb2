/** `containers manifest`: what is in a container, as a list, a page, or labels to stick on. */
import { Option, type Command } from "commander"
import type { Json } from "../../../core/kernel/json.ts"
import type { CommandContext } from "../../context.ts"
import { usageError } from "../../exit-codes.ts"
import { resolveId, resolveStore } from "../../resolve-id.ts"
import { column, recordText, tableText } from "../../output/table.ts"
import { withAction, type Flags } from "../../program.ts"
import { type Manifest, manifestOf } from "./contents.ts"

export const declare = (program: Command): void => {
  const containers = program
    .command("containers")
    .description("Flight cases and boxes: what is in them, where they are")
  withAction(
    containers
      .command("manifest")
      .description("What is in a container, cases inside it included; as a page, or as labels for it and its contents")
      .argument("<container>", "id, barcode, or its housing's asset or serial number")
      .option("--html <file>", "a page to print and put into the case; - for standard output")
      .addOption(new Option("--labels <kind>", "the page holds labels instead of the list").choices(["code128", "qr"]))
      .option("--sheet <grid>", "labels across and down on A4: 3x8, 3x7, 2x7, 2x4 or 5x13 (default: 3x8)")
      .option("--skip <number>", "labels already used up on the first sheet"),
    manifest
  )
}

const manifest = async (context: CommandContext, [named = ""]: ReadonlyArray<string>, flags: Flags): Promise<void> => {
  const file = flags["html"],
    kind = flags["labels"]
  if (typeof file !== "string" && kind !== undefined)
    throw usageError(
      "--labels makes a page: say where with --html.",
      "For example --html labels.html, or --html - for standard output."
    )
  for (const flag of ["sheet", "skip"])
    if (flags[flag] !== undefined && kind === undefined)
      throw usageError(`--${flag} is about labels: give --labels code128 or --labels qr.`)
  const labels =
    kind === undefined
      ? undefined
      : await (await import("../../views/draw-manifest.ts")).labelsAsked(String(kind), flags["sheet"], flags["skip"])
  const whole = await manifestOf(context, await resolveId(context, "containers", named))
  if (typeof file === "string") {
    const store = await resolveStore(context, whole.store_id === null ? undefined : String(whole.store_id))
    const { drawLabels, drawManifest } = await import("../../views/draw-manifest.ts")
    await (labels === undefined ? drawManifest(context, store, whole, file) : drawLabels(context, whole, labels, file))
  }
  if (context.options.json === true) return context.printJson({ manifest: whole as unknown as Json })
  if (typeof file === "string") return
  const rows = rowsOf(whole, [])
  if (context.terminal.is_tty) {
    context.print(
      recordText(
        {
          name: whole.name,
          code: whole.code,
          status: whole.status,
          sealed_at: whole.sealed_at,
          complete: whole.is_compliant === null ? "not told while open" : whole.is_compliant,
          units: rows.length,
          notes: whole.notes
        },
        context.terminal
      )
    )
    const missing = [whole, ...nestedContainers(whole)].flatMap((one) =>
      one.slots
        .filter(({ satisfied }) => !satisfied)
        .map((slot) => ({
          container: one.name,
          product: slot.product_name,
          required: slot.required,
          packed: slot.packed
        }))
    )
    if (missing.length > 0)
      context.print(
        `\nMISSING\n${tableText([column("container"), column("product"), column("required"), column("packed")], missing, context.terminal)}`
      )
    if (rows.length > 0) context.print("\n")
  }
  if (rows.length > 0)
    context.print(
      tableText(
        [column("container"), column("position"), column("product"), column("asset"), column("serial"), column("code")],
        rows,
        context.terminal
      )
    )
  else context.note("Nothing is in it.")
}
export const nestedContainers = (whole: Manifest): ReadonlyArray<Manifest> =>
  whole.containers.flatMap((one) => [one, ...nestedContainers(one)])
/** A line per unit; what lies in a case within follows that case. */
const rowsOf = (
  whole: Manifest,
  above: ReadonlyArray<string>
): ReadonlyArray<{ readonly [key: string]: string | null }> => {
  const path = [...above, whole.name]
  return whole.items.flatMap((item) => {
    const child = whole.containers.find((one) => one.serialised_item_id === item.serialised_item_id)
    return [
      {
        container: path.join(" › "),
        position: item.position,
        product: item.product_name,
        asset: item.asset_number,
        serial: item.serial_number,
        code: item.code
      },
      ...(child === undefined ? [] : rowsOf(child, path))
    ]
  })
}
