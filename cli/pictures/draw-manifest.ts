/** The manifest as a page, and the labels that go with it. */
import type { Flags } from "../program.ts"
import { Exit, exits, misused } from "../exits.ts"
import type { Desk } from "../desk.ts"
import type { StoreAt } from "../find.ts"
import type { Manifest } from "../daily/containers-manifest.ts"
import { manifestPage } from "./manifest.ts"
import { type Asked, type Label, labelSheets, sheets } from "./sheet.ts"
import { fitsQr, symbolOf } from "./symbol.ts"
import { checkPlace, writePicture } from "./write.ts"

export const drawManifest = async (desk: Desk, store: StoreAt, whole: Manifest, file: string): Promise<void> => {
  checkPlace(desk, file)
  const code = fitsQr(whole.code) ? (await symbolOf("qr", whole.code)).drawing : undefined
  await writePicture(desk, file, manifestPage(whole, { store: store.name, zone: store.zone, now: Date.now(), source: undefined }, code))
}

/** `--labels`, `--sheet` and `--skip` read. Exit 2 naming the flag. */
export const labelsAsked = async (kind: string, sheet_given: Flags[string], skip_given: Flags[string]): Promise<Asked> => {
  const name = String(sheet_given ?? "3x8").toLowerCase().replace("\u00d7", "x")
  const sheet = Object.hasOwn(sheets, name) ? sheets[name] : undefined
  if (sheet === undefined) throw misused(`--sheet: ${JSON.stringify(sheet_given)} is none of ${Object.keys(sheets).join(", ")}.`)
  if (skip_given !== undefined && !/^\d{1,3}$/.test(String(skip_given))) throw misused(`--skip: ${JSON.stringify(skip_given)} is no number of labels.`)
  return { kind: kind === "qr" ? "qr" : "code128", sheet, skip: Number(skip_given ?? 0) }
}

export const drawLabels = async (desk: Desk, whole: Manifest, asked: Asked, file: string): Promise<void> => {
  checkPlace(desk, file)
  const labels = labelsOf(whole, undefined)
  if (labels.length === 0) throw new Exit(exits.not_found, "There is nothing to label.")
  const { as_qr, page } = await labelSheets(`Labels: ${whole.name}`, labels, asked)
  await writePicture(desk, file, page)
  if (as_qr.length > 0) desk.note(`As QR, for they do not fit as Code 128 on this label: ${as_qr.slice(0, 5).join(", ")}${as_qr.length > 5 ? ` and ${as_qr.length - 5} more` : ""}.`)
}

/** One for the container, one for each unit; a case within has one label, its container's. */
export const labelsOf = (whole: Manifest, position: string | null | undefined): ReadonlyArray<Label> => [
  { code: whole.code, title: whole.name, more: position ?? undefined, is_case: true },
  ...whole.items.flatMap((item) => {
    const child = whole.containers.find((one) => one.serialised_item_id === item.serialised_item_id)
    return child === undefined
      ? [{ code: item.code, title: item.product_name ?? `Product ${item.product_id}`, more: [whole.name, item.position].filter((one) => one !== null).join(", "), is_case: false }]
      : labelsOf(child, [whole.name, item.position].filter((one) => one !== null).join(", "))
  })
]
