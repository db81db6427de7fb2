/** `containers`: handwritten verbs; those derived from the API are added. */
import type { JsonObject } from "../../../../core/kernel/index.ts"
import { plainJson } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { usageError } from "../../../base/exit-codes.ts"
import { resolveId, resolveStore } from "../../../context/resolve-id.ts"
import { blocksText, columnsNamed } from "../../../output/table.ts"
import { oneLine } from "../../../output/text.ts"
import { type CommandAction, oneOf, verb } from "../../../context/program.ts"
import { type Manifest, manifestOf } from "./contents.ts"
import type { Command } from "commander"

// `containers manifest`: contents of a container, as a list, a page, or labels.

/** Prints the manifest, or writes it or its labels as a page. Exit 2 for flags that exclude each other. */
const showManifest: CommandAction = async (context, [named = ""], flags) => {
  const file = flags.html,
    kind = flags.labels
  if (typeof file !== "string" && kind !== undefined)
    throw usageError(
      "--labels makes a page: say where with --html.",
      "For example --html labels.html, or --html - for standard output."
    )
  for (const flag of ["sheet", "skip"])
    if (flags[flag] !== undefined && kind === undefined)
      throw usageError(`--${flag} is about labels: give --labels code128 or --labels qr.`)
  const labels =
    kind === undefined ? undefined : (await import("../../../views/labels.ts")).labelsAsked(String(kind), flags)
  const whole = await manifestOf(context, await resolveId(context, "containers", named))
  if (typeof file === "string") {
    const store = await resolveStore(context, whole.store_id === null ? undefined : String(whole.store_id))
    const { drawManifest, labelsOf } = await import("./draw-manifest.ts")
    const { writeLabels } = await import("../../../views/labels.ts")
    await (labels === undefined
      ? drawManifest(context, store, whole, file)
      : writeLabels(context, `Labels: ${whole.name}`, labelsOf(whole), labels, { file, flag: "--html" }))
  }
  if (context.options.json === true) return context.printJson({ manifest: plainJson(whole) })
  if (typeof file !== "string") printManifest(context, whole)
}

const printManifest = (context: CommandContext, whole: Manifest): void => {
  const rows = rowsOf(whole, [])
  const alone = [whole, ...nestedContainers(whole)].flatMap(({ items }) =>
    items.filter(({ returned_at }) => returned_at)
  )
  const record = {
    name: whole.name,
    code: whole.code,
    status: whole.status,
    sealed_at: whole.sealed_at,
    complete: whole.is_compliant === null ? "unknown until sealed" : whole.is_compliant,
    ...(whole.seal_broken_reason === null
      ? {}
      : { seal_broken_at: whole.seal_broken_at, missing: whole.seal_broken_reason }),
    units: rows.length,
    ...(alone.length === 0 ? {} : { back_without_it: alone.map(({ code }) => code).join(", ") }),
    notes: whole.notes
  }
  for (const one of [whole, ...nestedContainers(whole)])
    for (const { code, out_of_service } of one.items)
      if (out_of_service !== undefined)
        context.note(oneLine(`${code} in ${one.name} is ${out_of_service}: take it out, or release it.`))
  const missing = columnsNamed("container, product, required, packed")
  const columns = columnsNamed("container, position, product, asset, serial, code")
  context.print(
    blocksText(
      [{ record }, { title: "MISSING", columns: missing, rows: missingIn(whole) }, { columns, rows }],
      context.terminal
    )
  )
  if (rows.length === 0) context.note("Nothing is in it.")
}
/** Unfilled slots of the container and of nested ones. */
const missingIn = (whole: Manifest): ReadonlyArray<JsonObject> =>
  [whole, ...nestedContainers(whole)].flatMap((one) =>
    one.slots
      .filter(({ satisfied }) => !satisfied)
      .map((slot) => ({
        container: one.name,
        product: slot.product_name,
        required: slot.required,
        packed: slot.packed
      }))
  )
const nestedContainers = (whole: Manifest): ReadonlyArray<Manifest> =>
  whole.containers.flatMap((one) => [one, ...nestedContainers(one)])
/** Rows of units; contents of a nested case follow its row. */
const rowsOf = (
  whole: Manifest,
  above: ReadonlyArray<string>
): ReadonlyArray<{ readonly [key: string]: string | null }> => {
  const path = [...above, whole.name]
  const boxes = whole.containers.filter(({ serialised_item_id }) => serialised_item_id === null)
  const rows = whole.items.flatMap((item) => {
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
  return [...rows, ...boxes.flatMap((box) => rowsOf(box, path))]
}

export const declare = (program: Command): void => {
  const containers = program.command("containers").description("Flight cases and boxes: their contents and locations")
  verb(containers, "manifest", {
    about: "Show a container's contents, nested cases included, as a list, a page or labels",
    "<container>": "container, by id, barcode, or its housing's asset or serial number",
    "--html <file>": "write a page to print and put into the case; - for standard output",
    "--labels <kind>": oneOf("make labels instead; needs --html", ["code128", "qr"]),
    "--sheet <sheet>": "on A4: 3x8, 3x7, 3x9, 2x7, 2x4, 5x13 or avery-NUMBER; zpl for label printers (default: 3x8)",
    "--skip <number>": "labels already used on the first sheet",
    run: showManifest
  })
}
