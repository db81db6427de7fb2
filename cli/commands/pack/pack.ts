/** `pack`: puts scanned units into a container, each committed on its own. */
import type { Command } from "commander"
import { requireAsset, scanAll } from "../../codes.ts"
import { resolveId } from "../../resolve-id.ts"
import { textFlag, withAction } from "../../program.ts"

export const declare = (program: Command): void => {
  const pack = program
    .command("pack")
    .description("Pack a container: codes line by line from standard input or a file")
    .argument("<container>", "id, barcode, or its housing's asset or serial number")
    .option("--file <file>", "read the codes from there")
    .option("--out", "take them out instead")
  withAction(pack, async (context, [named = ""], flags) => {
    const container = await resolveId(context, "containers", named)
    const out = flags["out"] === true
    return scanAll(context, textFlag(flags, "file"), out ? "unpacked" : "packed", async (code) => {
      const asset = await requireAsset(context, code)
      await context.ask({
        method: "POST",
        path: `/api/v1/containers/${container}/${out ? "unpack" : "pack"}`,
        body: { serialised_item_id: asset.id }
      })
      return { done: asset.label, asset_id: asset.id }
    })
  })
}
