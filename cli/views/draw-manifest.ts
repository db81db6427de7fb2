/** The manifest as a page, and the labels that go with it. */
import type { Flags } from "../program.ts"
import { CliError, exit_codes, usageError } from "../exit-codes.ts"
import type { CommandContext } from "../context.ts"
import type { ResolvedStore } from "../resolve-id.ts"
import type { Manifest } from "../commands/containers/contents.ts"
import { manifestPage } from "./manifest.ts"
import { type LabelRequest, type Label, labelSheets, sheets } from "./sheet.ts"
import { fitsQr, symbolOf } from "./symbol.ts"
import { checkOutputPath, writeView } from "./write.ts"

export const drawManifest = async (
  context: CommandContext,
  store: ResolvedStore,
  whole: Manifest,
  file: string
): Promise<void> => {
  checkOutputPath(context, file)
  const code = fitsQr(whole.code) ? (await symbolOf("qr", whole.code)).drawing : undefined
  await writeView(
    context,
    file,
    manifestPage(whole, { store: store.name, zone: store.zone, now: Date.now(), source: undefined }, code)
  )
}

/** `--labels`, `--sheet` and `--skip` read. Exit 2 naming the flag. */
export const labelsAsked = async (
  kind: string,
  sheet_given: Flags[string],
  skip_given: Flags[string]
): Promise<LabelRequest> => {
  const name = String(sheet_given ?? "3x8")
    .toLowerCase()
    .replace("\u00d7", "x")
  const sheet = Object.hasOwn(sheets, name) ? sheets[name] : undefined
  if (sheet === undefined)
    throw usageError(`--sheet: ${JSON.stringify(sheet_given)} is none of ${Object.keys(sheets).join(", ")}.`)
  if (skip_given !== undefined && !/^\d{1,3}$/.test(String(skip_given)))
    throw usageError(`--skip: ${JSON.stringify(skip_given)} is no number of labels.`)
  return { kind: kind === "qr" ? "qr" : "code128", sheet, skip: Number(skip_given ?? 0) }
}

export const drawLabels = async (
  context: CommandContext,
  whole: Manifest,
  asked: LabelRequest,
  file: string
): Promise<void> => {
  checkOutputPath(context, file)
  const labels = labelsOf(whole, undefined)
  if (labels.length === 0) throw new CliError(exit_codes.not_found, "There is nothing to label.")
  const { as_qr, page } = await labelSheets(`Labels: ${whole.name}`, labels, asked)
  await writeView(context, file, page)
  if (as_qr.length > 0)
    context.note(
      `As QR, for they do not fit as Code 128 on this label: ${as_qr.slice(0, 5).join(", ")}${as_qr.length > 5 ? ` and ${as_qr.length - 5} more` : ""}.`
    )
}

/** A label for the container and one for each unit; a case inside gets only the label of its container. */
export const labelsOf = (whole: Manifest, position: string | null | undefined): ReadonlyArray<Label> => [
  { code: whole.code, title: whole.name, more: position ?? undefined, is_case: true },
  ...whole.items.flatMap((item) => {
    const child = whole.containers.find((one) => one.serialised_item_id === item.serialised_item_id)
    return child === undefined
      ? [
          {
            code: item.code,
            title: item.product_name ?? `Product ${item.product_id}`,
            more: [whole.name, item.position].filter((one) => one !== null).join(", "),
            is_case: false
          }
        ]
      : labelsOf(child, [whole.name, item.position].filter((one) => one !== null).join(", "))
  })
]
