/** `pack`: packs scanned units into a container, each as a command of its own. */
import type { Command } from "commander"
import type { QueryResult } from "../../../sync/device/device.ts"
import { containerIdIn, unitCode } from "../../../core/warehouse/scanning/read-code.ts"
import { type Row, rowIn } from "../../base/answers.ts"
import { findAsset, requireAsset, scanCodes, type ScanResult } from "../../context/codes.ts"
import type { ApiRequest, CommandContext } from "../../context/context.ts"
import { CliError, exit_codes } from "../../base/exit-codes.ts"
import { findIdByName, resolveId } from "../../context/resolve-id.ts"
import { textFlag, verb } from "../../context/program.ts"

/** The container in use with this barcode or label; undefined if there is none. */
const boxNamed = async (context: CommandContext, code: string): Promise<Row<"container"> | undefined> => {
  const id = containerIdIn(code) ?? (await findIdByName(context, "containers", code))
  if (id === undefined) return undefined
  const { body, status } = await context.request({ method: "GET", path: `/api/v1/containers/${id}` })
  return status === 200 ? rowIn(body, "container") : undefined
}

export const declare = (program: Command): void => {
  verb(program, "pack", {
    about: "Pack units and cases into a container by code, from arguments, standard input or a file",
    "<container>": "container, by id, barcode, or its housing's asset or serial number",
    "[codes...]": "codes of units and cases (default: read line by line from standard input)",
    "--file <file>": "read codes from this file",
    "--out": "unpack instead",
    run: async (context, [named = "", ...codes], flags) => {
      const file = textFlag(flags, "file")
      const container = await resolveId(context, "containers", named)
      const out = flags.out === true
      // Names of units, as responses lack them.
      const labels = new Map<ApiRequest, { readonly done: string; readonly asset_id?: number }>()
      const done = async (asked: ApiRequest, answer: QueryResult): Promise<ScanResult> => {
        if (answer.status >= 400) throw (await import("../../base/response-errors.ts")).responseError(answer)
        return labels.get(asked) ?? { done: "" }
      }
      return scanCodes(context, { codes, file }, out ? "unpacked" : "packed", {
        asking: async (code) => {
          const box = (await findAsset(context, code)) === undefined ? await boxNamed(context, code) : undefined
          if (box !== undefined && box.serialised_item_id === null) {
            if (out && box.parent_container_id !== container)
              throw new CliError(exit_codes.conflict, `${box.name} is not packed in this container.`)
            const asked: ApiRequest = {
              method: "POST",
              path: `/api/v1/containers/${box.id}/nest`,
              body: { parent_container_id: out ? null : container }
            }
            labels.set(asked, { done: box.name })
            return asked
          }
          const asset = await requireAsset(context, box === undefined ? code : unitCode(box.serialised_item_id ?? 0))
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
    }
  })
}
