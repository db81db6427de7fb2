/**
 * `documents`: generates documents by number of their source, and downloads PDFs; the verbs of the API's noun are
 * added.
 */
import type { Command } from "commander"
import { repeatable, withAction } from "../../../context/program.ts"

export const declare = (program: Command): void => {
  const documents = program.command("documents").description("Quotations, delivery notes, invoices and other documents")
  withAction(
    documents
      .command("generate")
      .description("Create a document from an order, invoice, credit note or purchase order")
      .requiredOption(
        "--type <type>",
        "quotation, order_confirmation, pick_list, delivery_note, return_note, invoice …"
      )
      .option("--order <order>", "source order, by number or id")
      .option("--invoice <invoice>", "source invoice, by number or id")
      .option("--credit-note <note>", "source credit note, by number or id")
      .option("--purchase-order <order>", "source purchase order, by number or id")
      .option("--store <store>", "store for branding and texts (default: the source's store)")
      .option("--async", "do not wait for the PDF")
      .option("-o, --output <file>", "save the PDF to this file; - for standard output"),
    async (context, _named, flags) => (await import("./generate.ts")).generateDocument(context, flags)
  )
  withAction(
    documents
      .command("batch")
      .description("Create documents for up to 100 orders or invoices, in one job")
      .requiredOption("--type <type>", "as for generate")
      .addOption(repeatable("--order <order>", "source order; repeatable"))
      .addOption(repeatable("--invoice <invoice>", "source invoice; repeatable"))
      .addOption(repeatable("--credit-note <note>", "source credit note; repeatable"))
      .addOption(repeatable("--purchase-order <order>", "source purchase order; repeatable"))
      .option("--store <store>", "store for branding and texts")
      .option("--wait", "show progress until all are created"),
    async (context, _named, flags) => (await import("./generate.ts")).generateBatch(context, flags)
  )
  withAction(
    documents
      .command("get")
      .description("Download a document's PDF")
      .argument("<document>", "document, by number or id")
      .option("--certificate", "include the acceptance certificate")
      .option("-o, --output <file>", "output file (default: its own name, in this folder); - for standard output"),
    async (context, [named = ""], flags) => (await import("./get.ts")).getDocument(context, named, flags)
  )
  withAction(
    documents
      .command("verify")
      .description("Identify a PDF's document and who accepted it; offline, from the replica")
      .argument("<file>", "PDF to identify")
      .addHelpText("after", "\nExit 0: it is the document, unchanged and not voided. 1: it is not, or it was voided."),
    async (context, [file = ""]) => (await import("./verify.ts")).verifyFile(context, file)
  )
}
