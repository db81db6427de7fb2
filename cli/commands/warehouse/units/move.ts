/** `units quarantine|repair|release|lost|sold`: changes the state of units, with a command for each code. */
import type { JsonObject } from "../../../../core/kernel/index.ts"
import { isServiceState, stateWords } from "../../../../core/products/stock/schema.ts"
import { objectBody, type Row, rowIn, rowsIn } from "../../../base/answers.ts"
import { type Asset, requireAsset } from "../../../context/codes.ts"
import type { CommandContext } from "../../../context/context.ts"
import { CliError, exit_codes, usageError } from "../../../base/exit-codes.ts"
import { idFlag, momentFlag, present } from "../../../context/pages.ts"
import { notePending, printAnswer } from "../../../context/print.ts"
import { oneLine } from "../../../output/text.ts"
import { formatIn } from "../../../base/parse-time.ts"
import { type Flags, listFlag, textFlag } from "../../../context/program.ts"
import { resolveStore } from "../../../context/resolve-id.ts"
import { attachPhotos, eachInTurn } from "../../documents/attach.ts"

type Move = "quarantine" | "repair" | "release" | "lost" | "sold"

/** Moves the named units, continuing after a refusal; the exit code is that of the first one. */
export const moveUnits = async (
  move: Move,
  context: CommandContext,
  codes: ReadonlyArray<string>,
  flags: Flags
): Promise<number> => {
  const sent = await moveBody(context, flags)
  const photos = listFlag(flags, "photo")
  const { localFile } = await import("../../../base/input.ts")
  // Unreadable files are reported before anything is recorded.
  for (const photo of photos) await localFile(photo)
  const done: Array<JsonObject> = []
  const { failed, worst } = await eachInTurn(context, "code", codes, async (code) => {
    const asset = await requireUnit(context, code)
    const row = await moveOne(context, move, asset, { ...sent, ...(await datesOf(context, asset, flags)) })
    if (row === undefined) return
    done.push(row)
    await attachPhotos(context, asset.id, photos)
    const charge = textFlag(flags, "charge")
    if (charge !== undefined) await chargeFor(context, asset, rowIn(row, "service_record"), charge)
  })
  if (context.options.plan === true) {
    if (context.options.json !== true) context.note("Planned only; nothing was written.")
  } else if (context.options.json === true)
    context.printJson({ units: done, ...(failed.length === 0 ? {} : { failed }) })
  return worst
}

export const requireUnit = async (context: CommandContext, code: string): Promise<Asset> => {
  try {
    return await requireAsset(context, code, true)
  } catch (error) {
    if (!(error instanceof CliError) || error.code !== exit_codes.not_found) throw error
    throw new CliError(exit_codes.not_found, `No unit has the code ${JSON.stringify(code)}.`, {
      way_out:
        "flightcase stock-levels list shows asset numbers, serial numbers and barcodes; any of them is a code. " +
        "Bulk stock is named by its id there."
    })
  }
}

/** Body values for all units; absent flags are omitted, so that an open record keeps its values. */
const moveBody = async (context: CommandContext, flags: Flags): Promise<JsonObject> => {
  const numberIn = (flag: string): number | undefined => {
    const given = textFlag(flags, flag)
    if (given !== undefined && !/^[1-9]\d{0,8}$/.test(given))
      throw usageError(`--${flag}: ${JSON.stringify(given)} is no whole number above 0.`)
    return given === undefined ? undefined : Number(given)
  }
  return present({
    reason: textFlag(flags, "reason"),
    note: textFlag(flags, "note"),
    cost: textFlag(flags, "cost"),
    quantity: numberIn("quantity"),
    service_record_id: numberIn("record"),
    opportunity_id: await idFlag(context, flags, "order", "opportunities"),
    write_off: flags.writeOff === true ? true : undefined
  })
}

/** Dates in the zone of the unit's store; a day of return includes all of it. */
const datesOf = async (context: CommandContext, asset: Asset, flags: Flags): Promise<JsonObject> => {
  if (flags.since === undefined && flags.back === undefined) return {}
  const { zone } = await resolveStore(context, String(asset.store_id))
  return present({
    starts_at: momentFlag(context, flags, "since", zone),
    expected_back_at: momentFlag(context, flags, "back", zone)
  })
}

/** Moves one unit and prints the result; undefined if a plan was printed as JSON. */
const moveOne = async (
  context: CommandContext,
  move: Move,
  asset: Asset,
  body: JsonObject
): Promise<JsonObject | undefined> => {
  const answer = await context.post(`/api/v1/stock_levels/${asset.id}/${move}`, body)
  if (answer.events !== undefined && context.options.json === true) {
    await printAnswer(context, answer)
    return undefined
  }
  const row = objectBody(answer.body)
  const level = rowIn(row, "stock_level"),
    record = rowIn(row, "service_record")
  const { zone } = await resolveStore(context, String(asset.store_id))
  if (context.options.json !== true) {
    context.print(`${asset.label}\t${inWords(move, level, record, zone)}\n`)
    notePending(context, answer)
  }
  for (const one of rowsIn(row.meta, "conflicts"))
    context.note(
      oneLine(
        `${asset.label} is promised to ${one.subject} (${one.number ?? one.opportunity_id}) ` +
          `from ${formatIn(one.starts_at, zone)}: another unit has to go there.`
      )
    )
  return row
}

const inWords = (move: Move, level: Row<"stock_level">, record: Row<"service_record">, zone: string): string => {
  const is_bulk = level.stock_category !== 50
  const state = move === "release" ? "in_service" : record.state
  const words = isServiceState(state) ? stateWords[state] : state
  const back = record.expected_back_at
  return (
    `${is_bulk ? `${record.quantity} ` : ""}${words}` +
    (record.is_open && back !== null ? `, expected back ${formatIn(back, zone)}` : "")
  )
}

/** Charges the customer by a separate command, so that the unit's state holds even if charging is rejected. */
const chargeFor = async (
  context: CommandContext,
  asset: Asset,
  record: Row<"service_record">,
  amount: string
): Promise<void> => {
  // A plan has no record that could be charged.
  if (context.options.plan === true)
    return context.note(
      oneLine(`Would charge ${amount === "replacement" ? "the replacement" : amount} for ${asset.label}.`)
    )
  try {
    await context.post(`/api/v1/service_records/${record.id}/charge`, amount === "replacement" ? {} : { amount })
    context.note(oneLine(`Charged for ${asset.label}; orders show lists the cost.`))
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    throw new CliError(error.code, `${asset.label} is recorded, but nothing was charged: ${error.message}`)
  }
}
