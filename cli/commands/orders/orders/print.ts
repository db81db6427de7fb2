/**
 * `orders print`: renders a document of an order from the replica, or downloads the server's. Replicas of users without
 * permission for opportunities lack data, and so do their prints.
 */
import { writeFile } from "node:fs/promises"
import { Effect } from "effect"
import { document_types, type DocumentType } from "../../../../core/documents/schema.ts"
import { hasOnePermission, isJsonObject } from "../../../../core/kernel/index.ts"
import type { PrintDocument } from "../../../../core/pricing/print/blocks.ts"
import { plainJson, type Row, rowIn } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { CliError, exit_codes, usageError } from "../../../base/exit-codes.ts"
import { notePending, printAnswer } from "../../../context/print.ts"
import { type Flags, textFlag } from "../../../context/program.ts"
import { notFoundError, resolveId } from "../../../context/resolve-id.ts"
import { opportunityPath } from "../shared/show.ts"

const printable_types = Object.entries(document_types)
  .filter(([, { of }]) => of === "Opportunity")
  .map(([type]) => type)
const isDocumentType = (text: string): text is DocumentType => Object.hasOwn(document_types, text)

interface Wanted {
  readonly order: string
  readonly type: DocumentType
  readonly format: "pdf" | "html"
  /** File to write, `-` for standard output; undefined for a default name in the current folder. */
  readonly file: string | undefined
}

export const printOrder = async (context: CommandContext, order: string, flags: Flags): Promise<void> => {
  const type = textFlag(flags, "type") ?? ""
  if (!isDocumentType(type)) throw usageError("Say which paper to print.", `Give --type ${printable_types.join("|")}.`)
  const wanted: Wanted = {
    order,
    type,
    format: textFlag(flags, "format") === "html" ? "html" : "pdf",
    file: textFlag(flags, "output")
  }
  if (wanted.file === "-" && wanted.format === "pdf" && context.terminal.is_tty && context.options.json !== true)
    throw usageError("A PDF does not go to a terminal.", "Name a file with -o, or pass it on: flightcase … -o - | lp")
  // Documents printed at the server are stored there in any case.
  if (context.options.plan === true || (flags.keep === true && context.isDevice())) {
    const answer = await record(context, wanted)
    if (context.options.plan === true) return printAnswer(context, answer)
    notePending(context, answer)
  }
  return context.isDevice() ? printHere(context, wanted) : printAtServer(context, wanted)
}

/** Records the document for the server; it is pending until sent. */
const record = async (context: CommandContext, { order, type }: Wanted) => {
  const path = await opportunityPath(context, order)
  return context.post("/api/v1/documents/generate", {
    documentable_type: "Opportunity",
    documentable_id: Number(path.slice(path.lastIndexOf("/") + 1)),
    document_type: type
  })
}

/** Renders the document from the replica, with the same facts and functions as the server. */
const printHere = async (context: CommandContext, wanted: Wanted): Promise<void> => {
  const id = await resolveId(context, "opportunities", wanted.order)
  const device = await context.device()
  const { opportunities } = await import("../../../../core/orders/opportunities/tables/opportunities.ts")
  const { prepareDocument } = await import("../../../../core/documents/content/prepare.ts")
  const { Store } = await import("../../../../core/kernel/store/store.ts")
  const { CommandRuntime } = await import("../../../../core/kernel/endpoints/endpoint.ts")
  const prepared = await device.read(
    Effect.fnUntraced(function* (viewer) {
      if (!hasOnePermission(viewer, "documents.view"))
        throw new CliError(exit_codes.not_allowed, "You may not see documents.", {
          way_out: "Somebody who manages users can give a role documents.view."
        })
      const { settings } = yield* CommandRuntime
      const order = yield* Store.get(opportunities, id)
      if (order === undefined || order.deleted_at !== null) throw notFoundError("opportunities", wanted.order)
      return yield* prepareDocument(
        {
          document_type: wanted.type,
          documentable_id: order.id,
          store_id: null,
          document_number: null,
          now: new Date().toISOString()
        },
        yield* settings
      )
    })
  )
  if (prepared === undefined) throw notFoundError("opportunities", wanted.order)
  const { makeRenderer, background_limit_millis } = await import("../../../../server/print/renderer.ts")
  // Devices do not hold the content of the logo.
  await Effect.runPromise(
    Effect.scoped(
      Effect.gen(function* () {
        const renderer = yield* makeRenderer({ threads: 1 })
        const has_texts = Object.keys(prepared.fragments).length > 0
        const filled = has_texts ? yield* renderer.texts(prepared.fragments, prepared.data) : {}
        const document = withoutPictures(prepared.compose(filled))
        if (context.options.json === true) return context.printJson(plainJson(document))
        const content =
          wanted.format === "pdf"
            ? (yield* renderer.pdf(document, { limit_millis: background_limit_millis })).bytes
            : yield* Effect.promise(() => pageOf(document))
        yield* Effect.promise(() => writeContent(context, wanted, prepared.file_name, content))
      })
    ).pipe(Effect.mapError((failure) => new CliError(exit_codes.failed, failure.message, { cause: failure })))
  )
}
const pageOf = async (document: PrintDocument): Promise<string> => {
  const { htmlPage } = await import("../../../../core/pricing/print/html.ts")
  const { symbolOf } = await import("../../../../server/print/symbols.ts")
  return htmlPage(document, { symbolOf: ({ symbology, value }) => symbolOf(symbology, value).svg })
}
/** The document without pictures, whose content is on the server. */
const withoutPictures = (document: PrintDocument): PrintDocument => {
  type Blocks = PrintDocument["blocks"]
  const kept = (blocks: Blocks): Blocks =>
    blocks
      .filter((block) => block.kind !== "image" || !("sha256" in block.picture))
      .map((block) =>
        block.kind === "together"
          ? { ...block, blocks: kept(block.blocks) }
          : block.kind === "columns"
            ? { ...block, columns: block.columns.map((part) => ({ ...part, blocks: kept(part.blocks) })) }
            : block
      )
  return { ...document, blocks: kept(document.blocks) }
}

/** Creates the document on the server, for use without a replica, and downloads its PDF. */
const printAtServer = async (context: CommandContext, wanted: Wanted): Promise<void> => {
  if (wanted.format === "html")
    throw usageError("The server gives PDF alone.", "Log in, so that the page is made here: flightcase login URL …")
  const { body } = await record(context, wanted)
  const document: Partial<Row<"document">> = isJsonObject(body) ? rowIn(body, "document") : {}
  if (context.options.json === true) return context.printJson({ document })
  const address = document.download_url
  if (typeof address !== "string")
    throw new CliError(exit_codes.not_allowed, "The document was made, but its file may not be fetched.", {
      way_out: "Fetching it needs the permission documents.view."
    })
  const answer = await fetch(address).catch(() => undefined)
  if (answer?.ok !== true) throw new CliError(exit_codes.network, "The document's file could not be fetched.")
  const name = `${wanted.type.replace("_", "-")}-${String(document.document_number ?? document.id)}`
  await writeContent(context, wanted, name, new Uint8Array(await answer.arrayBuffer()))
}

const writeContent = async (
  context: CommandContext,
  { file, format }: Wanted,
  name: string,
  content: string | Uint8Array
): Promise<void> => {
  if (file === "-") return context.printContent(content)
  const path = file ?? `${name}.${format}`
  try {
    await writeFile(path, content)
  } catch (cause) {
    throw new CliError(exit_codes.failed, `${path} cannot be written.`, {
      way_out: "Name another file with -o.",
      cause
    })
  }
  context.note(`Wrote ${path}.`)
}
