/** `documents`: proving a file against its record. The verbs of the API's noun are added. */
import type { Command } from "commander"
import { withAction } from "../../program.ts"

export const declare = (program: Command): void => {
  const documents = program.command("documents").description("Documents people read, sign and keep")
  withAction(
    documents
      .command("verify")
      .description("Say which document a file is, and who accepted it; without a network from what is known here")
      .argument("<file>", "a PDF that was downloaded, sent or kept")
      .addHelpText("after", "\nExit 0: it is the document, unchanged and not voided. 1: it is not, or it was voided."),
    async (context, [file = ""]) => (await import("./verify.ts")).verifyFile(context, file)
  )
}
