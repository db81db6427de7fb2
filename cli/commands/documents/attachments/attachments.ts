/** `attachments`: downloading and listing files; the verbs of the API's noun are added. */
import type { Command } from "commander"
import { attachmentsSlice } from "../../../../core/office/attachments/api.ts"
import { fixedOptions } from "../../../derived/command.ts"
import { withAction } from "../../../context/program.ts"

export const declare = (program: Command): void => {
  const attachments = program.command("attachments").description("Files attached to members, orders, units …")
  withAction(
    attachments
      .command("get")
      .description("Download an attached file and verify its checksum")
      .argument("<attachment>", "attachment id")
      .option("-o, --output <file>", "output file (default: its own name, in this folder); - for standard output"),
    async (context, [id = ""], flags) => (await import("./get.ts")).getAttachment(context, id, flags)
  )
  const list = attachments
    .command("list")
    .alias("ls")
    .description("List all attachments you may see, or those of one record")
    .argument("[target]", "member:12, order:0000000009, product:SKU, unit:BARCODE, container:CASE-1 or activity:4")
  for (const endpoint of attachmentsSlice.endpoints ?? [])
    if (endpoint.name === "attachments.list") for (const option of fixedOptions(endpoint)) list.addOption(option)
  withAction(list, async (context, [target], flags) =>
    (await import("./list.ts")).listAttachments(context, target, flags)
  )
}
