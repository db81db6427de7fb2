/** Pages of the sample data, written by the command line. */
import { join } from "node:path"
import { type Place, run } from "../cli/session.ts"
import { dayFrom } from "./sample.ts"

/** File name → arguments of the command that writes it. */
export const pagesOf = (now: number): { readonly [name: string]: ReadonlyArray<string> } => {
  const month = ["--from", dayFrom(now, -12), "--to", dayFrom(now, 24)]
  return {
    calendar: ["availability", "calendar", "--from", dayFrom(now, -6), "--to", dayFrom(now, 38)],
    "calendar-half-year": ["availability", "calendar", "--from", dayFrom(now, -6), "--to", dayFrom(now, 180)],
    "gantt-units": ["availability", "gantt", "SPIIDER", ...month],
    "gantt-bulk": ["availability", "gantt", "XLR10", ...month],
    "gantt-week": ["availability", "gantt", "SPIIDER", "--from", dayFrom(now, -2), "--to", dayFrom(now, 6)],
    "gantt-year": ["availability", "gantt", "SM58", "--from", dayFrom(now, -10), "--to", dayFrom(now, 300)],
    "gantt-kit": ["availability", "gantt", "KIT", "--kits", ...month],
    manifest: ["containers", "manifest", "CASE-0007"],
    "labels-code128": ["containers", "manifest", "CASE-0007", "--labels", "code128"],
    "labels-qr": ["containers", "manifest", "CASE-0007", "--labels", "qr", "--sheet", "2x7", "--skip", "3"],
    "labels-small": ["containers", "manifest", "CASE-0007", "--labels", "code128", "--sheet", "5x13"]
  }
}
/** Writes the pages into a folder; returns the files. */
export const writePages = async (place: Place, now: number, folder: string): Promise<ReadonlyArray<string>> => {
  const files: Array<string> = []
  for (const [name, words] of Object.entries(pagesOf(now))) {
    const file = join(folder, `${name}.html`)
    const { code, err, out } = await run(place, [...words, "--html", file])
    if (code !== 0 || out !== "") throw new Error(`flightcase ${words.join(" ")} ended with ${code}: ${err}${out}`)
    files.push(file)
  }
  return files
}
