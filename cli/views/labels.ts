/** Writes labels as A4 sheets or, for label printers, as ZPL. */
import type { SymbolKind } from "../../core/warehouse/labels/schema.ts"
import { type Label, labelSheets, LabelsRefused, sheetNamed, sheets } from "../../server/print/sheet.ts"
import { CliError, exit_codes, usageError } from "../base/exit-codes.ts"
import type { CommandContext } from "../context/context.ts"
import type { Flags } from "../context/program.ts"
import { checkOutputPath, writeView } from "./frame.ts"
import { namesText } from "../../core/values/text.ts"

interface LabelRequest {
  readonly kind: SymbolKind
  /** Undefined for ZPL. */
  readonly sheet: NonNullable<ReturnType<typeof sheetNamed>> | undefined
  readonly skip: number
  /** Size of a label in ZPL, and resolution of its printer. */
  readonly size: { readonly width_mm?: number; readonly height_mm?: number; readonly dots_per_mm?: number }
}

/** Parses the symbol, `--sheet`, `--skip`, `--size` and `--dpi`. Exit 2 naming the flag. */
export const labelsAsked = (kind: string, flags: Flags): LabelRequest => {
  const { dpi, sheet: sheet_given = "3x8", size, skip = "0" } = flags
  const is_zpl = String(sheet_given).toLowerCase() === "zpl"
  const sheet = is_zpl ? undefined : sheetNamed(String(sheet_given))
  if (sheet === undefined && !is_zpl)
    throw usageError(
      `--sheet: ${JSON.stringify(sheet_given)} is none of ${[...Object.keys(sheets), "zpl"].join(", ")}.`
    )
  if (!/^\d{1,3}$/.test(String(skip))) throw usageError(`--skip: ${JSON.stringify(skip)} is no number of labels.`)
  for (const [flag, given] of Object.entries({ "--size": size, "--dpi": dpi }))
    if (given !== undefined && !is_zpl) throw usageError(`${flag} is about label printers: give --sheet zpl.`)
  return {
    kind: kind === "qr" ? "qr" : "code128",
    sheet,
    skip: Number(skip),
    size: { ...sizeIn(size), ...dotsIn(dpi) }
  }
}
const sizeIn = (given: Flags[string]): LabelRequest["size"] => {
  if (given === undefined) return {}
  const [, width, height] = /^([1-9]\d{1,2})[x\u00d7]([1-9]\d{1,2})$/i.exec(String(given)) ?? []
  if (width === undefined || height === undefined || Number(width) > 300 || Number(height) > 300)
    throw usageError(`--size: ${JSON.stringify(given)} is no width and height in mm of 10 to 300, such as 57x32.`)
  return { width_mm: Number(width), height_mm: Number(height) }
}
const dotsIn = (given: Flags[string]): LabelRequest["size"] => {
  if (given === undefined) return {}
  const dots = new Map([
    ["203", 8],
    ["300", 12],
    ["600", 24]
  ]).get(String(given))
  if (dots === undefined) throw usageError(`--dpi: ${JSON.stringify(given)} is none of 203, 300, 600.`)
  return { dots_per_mm: dots }
}

/** Writes the labels. Exit 3 if there are none. */
export const writeLabels = async (
  context: CommandContext,
  title: string,
  labels: ReadonlyArray<Label>,
  asked: LabelRequest,
  { file, flag }: { readonly file: string; readonly flag: string }
): Promise<void> => {
  checkOutputPath(context, file, flag)
  if (labels.length === 0) throw new CliError(exit_codes.not_found, "There is nothing to label.")
  if (asked.sheet === undefined) {
    const { zplOf } = await import("../../core/warehouse/labels/rules.ts")
    return writeView(context, file, zplOf(labels, { symbol: asked.kind, ...asked.size }), flag)
  }
  const { as_qr, page } = await drawn(title, labels, { ...asked, sheet: asked.sheet })
  await writeView(context, file, page, flag)
  if (as_qr.length > 0) context.note(`As QR, for they do not fit as Code 128 on this label: ${namesText(as_qr, 5)}.`)
}
const drawn = async (...asked: Parameters<typeof labelSheets>): ReturnType<typeof labelSheets> => {
  try {
    return await labelSheets(...asked)
  } catch (error) {
    if (!(error instanceof LabelsRefused)) throw error
    throw error.field === "skip"
      ? usageError(`--skip: ${error.message}`)
      : usageError(error.message, "Give the unit a shorter barcode.")
  }
}
