/** `pack`: packs scanned units into a container, each as a command of its own. */
import type { Command } from "commander"
import type { QueryResult } from "../../../sync/device/device.ts"
import { eachOf, requireAsset, scanCodes, type ScanResult } from "../../context/codes.ts"
import type { ApiRequest } from "../../context/context.ts"
import { usageError } from "../../base/exit-codes.ts"
import { linesOf } from "../../base/input.ts"
import { resolveId } from "../../context/resolve-id.ts"
import { textFlag, withAction } from "../../context/program.ts"

export const declare = (program: Command): void => {
  const pack = program
    .command("pack")
    .description("Pack a container by unit codes, from arguments, standard input or a file")
    .argument("<container>", "id, barcode, or its housing's asset or serial number")
    .argument("[codes...]", "unit codes (default: read line by line from standard input)")
    .option("--file <file>", "read codes from this file")
    .option("--out", "unpack instead")
  withAction(pack, async (context, [named = "", ...codes], flags) => {
    const file = textFlag(flags, "file")
    if (codes.length > 0 && file !== undefined) throw usageError("Give the codes here or in a file, not both.")
    const container = await resolveId(context, "containers", named)
    const out = flags.out === true
    // Names of units, as responses lack them.
    const labels = new Map<ApiRequest, { readonly done: string; readonly asset_id: number }>()
    const done = async (asked: ApiRequest, answer: QueryResult): Promise<ScanResult> => {
      if (answer.status >= 400) throw (await import("../../base/response-errors.ts")).responseError(answer)
      return labels.get(asked) ?? { done: "" }
    }
    return scanCodes(context, codes.length > 0 ? eachOf(codes) : linesOf(file), out ? "unpacked" : "packed", {
      asking: async (code) => {
        const asset = await requireAsset(context, code)
        const asked: ApiRequest = {
          method: "POST",
          path: `/api/v1/containers/${container}/${out ? "unpack" : "pack"}`,
          body: { serialised_item_id: asset.id }
        }
        labels.set(asked, { done: asset.label, asset_id: asset.id })
        return asked
      },
      scan: async (asked) => done(asked, await context.request(asked)),
      planned: done
    })
  })
}
