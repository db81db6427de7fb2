/** `documents`: made of what people name by its number, and fetched as PDF. The verbs of the API's noun are added. */
import type { Command } from "commander"
import { repeatable, withAction } from "../../../context/program.ts"

export const declare = (program: Command): void => {
  const documents = program.command("documents").description("Documents people send, sign and pack by")
  withAction(
    documents
      .command("generate")
      .description("Make a document of an order, an invoice, a credit note or an order to a supplier")
      .requiredOption(
        "--type <type>",
        "quotation, order_confirmation, pick_list, delivery_note, return_note, invoice …"
      )
      .option("--order <order>", "of this order: its number or id")
      .option("--invoice <invoice>", "of this invoice: its number or id")
      .option("--credit-note <note>", "of this credit note: its number or id")
      .option("--purchase-order <order>", "of this order to a supplier: its number or id")
      .option("--store <store>", "whose branding and texts (default: the store of what it is made of)")
      .option("--async", "do not wait until it is drawn")
      .option("-o, --output <file>", "fetch the PDF to this file; - for standard output"),
    async (context, _named, flags) => (await import("./generate.ts")).generateDocument(context, flags)
  )
  withAction(
    documents
      .command("batch")
      .description("Make a document of each of up to 100 orders or invoices, by one job of the server")
      .requiredOption("--type <type>", "as for generate")
      .addOption(repeatable("--order <order>", "of this order; may be given again"))
      .addOption(repeatable("--invoice <invoice>", "of this invoice; may be given again"))
      .addOption(repeatable("--credit-note <note>", "of this credit note; may be given again"))
      .addOption(repeatable("--purchase-order <order>", "of this order to a supplier; may be given again"))
      .option("--store <store>", "whose branding and texts")
      .option("--wait", "show how far it is until all are made"),
    async (context, _named, flags) => (await import("./generate.ts")).generateBatch(context, flags)
  )
  withAction(
    documents
      .command("get")
      .description("Fetch the PDF of a document")
      .argument("<document>", "its number or id")
      .option("--certificate", "with the certificate of who accepted it")
      .option("-o, --output <file>", "where it goes (default: its own name, here); - for standard output"),
    async (context, [named = ""], flags) => (await import("./get.ts")).getDocument(context, named, flags)
  )
  withAction(
    documents
      .command("verify")
      .description("Say which document a file is, and who accepted it; without a network from what is known here")
      .argument("<file>", "a PDF that was downloaded, sent or kept")
      .addHelpText("after", "\nExit 0: it is the document, unchanged and not voided. 1: it is not, or it was voided."),
    async (context, [file = ""]) => (await import("./verify.ts")).verifyFile(context, file)
  )
}
