/** `attachments`: reading a file again; the verbs of the API's noun are added to it. */
import type { Command } from "commander"
import { attachmentsSlice } from "../../../../core/office/attachments/api.ts"
import { fixedOptions } from "../../../derived/command.ts"
import { withAction } from "../../../context/program.ts"

export const declare = (program: Command): void => {
  const attachments = program.command("attachments").description("Files attached to members, orders, units …")
  withAction(
    attachments
      .command("get")
      .description("Read a file, and check that it is what was attached")
      .argument("<attachment>", "its id")
      .option("-o, --output <file>", "where it goes (default: its own name, here); - for standard output"),
    async (context, [id = ""], flags) => (await import("./get.ts")).getAttachment(context, id, flags)
  )
  const list = attachments
    .command("list")
    .alias("ls")
    .description("List attachments of everything one may see, or of one thing")
    .argument("[target]", "member:12, order:0000000009, product:SKU, unit:BARCODE, container:CASE-1 or activity:4")
  for (const endpoint of attachmentsSlice.endpoints ?? [])
    if (endpoint.name === "attachments.list") for (const option of fixedOptions(endpoint)) list.addOption(option)
  withAction(list, async (context, [target], flags) =>
    (await import("./list.ts")).listAttachments(context, target, flags)
  )
}
