/** `documents get`: downloads the PDF from the server by its signed URL. */
import { type Row, rowIn, rowsIn } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { CliError, exit_codes } from "../../../base/exit-codes.ts"
import { type Flags, textFlag } from "../../../context/program.ts"
import { resolveId } from "../../../context/resolve-id.ts"
import { signedFile, writeAs } from "../../../context/signed-file.ts"

export const getDocument = async (context: CommandContext, named: string, flags: Flags): Promise<void> => {
  if (context.offline)
    throw new CliError(exit_codes.network, "The PDF is on the server, and --offline forbids to ask it.", {
      way_out: "Leave out --offline when there is a network; papers of the warehouse: flightcase orders print."
    })
  const id = await resolveId(context, "documents", named)
  if (flags.certificate === true) return writeCertificate(context, id, textFlag(flags, "output"))
  const answer = await context.requestAtServer({ method: "GET", path: `/api/v1/documents/${id}` })
  if (answer.status >= 400) throw (await import("../../../base/response-errors.ts")).responseError(answer)
  await writePdf(context, rowIn(answer.body, "document"), textFlag(flags, "output"))
}

/** Writes the document with its latest acceptance certificate. */
const writeCertificate = async (context: CommandContext, id: number, given: string | undefined): Promise<void> => {
  const answer = await context.requestAtServer({ method: "GET", path: `/api/v1/documents/${id}/acceptances` })
  if (answer.status >= 400) throw (await import("../../../base/response-errors.ts")).responseError(answer)
  const acceptances = rowsIn(answer.body, "document_acceptances")
  const url = acceptances.map(({ download_url }) => download_url).findLast((one) => typeof one === "string")
  if (typeof url !== "string")
    throw new CliError(
      exit_codes.failed,
      acceptances.length === 0 ? "Nobody has accepted the document." : "The certificate is still being made.",
      { way_out: acceptances.length === 0 ? "Leave out --certificate for its PDF." : "Try again in a moment." }
    )
  const { content, name } = await signedFile(context, url)
  if (given === "-") return context.printContent(content)
  const file = await writeAs(name ?? `certificate-${id}.pdf`, content, given)
  if (context.options.json === true) return context.printJson({ document: { id, file, bytes: content.length } })
  context.note(`Wrote ${file}, ${content.length} bytes.`)
}

/** Downloads and writes a document's PDF, given its row from the server. */
export const writePdf = async (
  context: CommandContext,
  document: Row<"document">,
  given: string | undefined
): Promise<void> => {
  const { download_url, status } = document
  if (download_url === null)
    throw new CliError(
      exit_codes.failed,
      status === "generated" || status === "finalised"
        ? "You may see this document, and not its PDF."
        : `The document is ${status}: it has no PDF.`,
      {
        way_out:
          status === "pending"
            ? "Try again in a moment."
            : status === "generated" || status === "finalised"
              ? "Documents need the permission documents.view, orders to suppliers costs.view as well."
              : "Make it again: flightcase documents generate."
      }
    )
  const { content, name } = await signedFile(context, download_url)
  if (given === "-") return context.printContent(content)
  const own_name = `${document.document_type}-${document.document_number ?? document.id}.pdf`
  const file = await writeAs(name ?? own_name, content, given)
  if (context.options.json === true)
    return context.printJson({ document: { id: document.id, file, bytes: content.length } })
  context.note(`Wrote ${file}, ${content.length} bytes.`)
}
