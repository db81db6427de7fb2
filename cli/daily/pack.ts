/** `pack`: puts what is scanned into a container, one commit per code. */
import type { Command } from "commander"
import { knownAsset, scanAll } from "../codes.ts"
import { idOf } from "../find.ts"
import { acting } from "../program.ts"

export const declare = (program: Command): void => {
  const pack = program.command("pack").description("Pack a container: codes line by line from standard input or a file")
    .argument("<container>", "id, barcode, or its housing's asset or serial number")
    .option("--file <file>", "read the codes from there").option("--out", "take them out instead")
  acting(pack, async (desk, [named = ""], flags) => {
    const container = await idOf(desk, "containers", named)
    const out = flags["out"] === true
    return scanAll(desk, flags["file"] as string | undefined, out ? "unpacked" : "packed", async (code) => {
      const asset = await knownAsset(desk, code)
      await desk.ask({ method: "POST", path: `/api/v1/containers/${container}/${out ? "unpack" : "pack"}`, body: { serialised_item_id: asset.id } })
      return { done: asset.label, asset_id: asset.id }
    })
  })
}
