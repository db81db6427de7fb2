/** `attachments`: reading a file again; the verbs of the API's noun are added to it. */
import type { Command } from "commander"
import { withAction } from "../../program.ts"

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
}
