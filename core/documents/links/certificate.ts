/** The page added to an accepted quotation: who, when, from where, and for which text and PDF. */
import * as Base64 from "effect/encoding/Base64"
import { type Block, plain, type PrintDocument } from "../../pricing/print/blocks.ts"
import { momentText } from "../../pricing/print/format.ts"
import type { DocumentAcceptanceRow, DocumentRow } from "../schema.ts"
import { signatureSvg } from "./signature.ts"
import { type LinkWords, linkWords } from "./words.ts"

interface Certified {
  readonly snapshot: PrintDocument
  readonly document: DocumentRow
  readonly acceptance: DocumentAcceptanceRow
  /** When the link was created. */
  readonly link: { readonly id: number; readonly created_at: string } | null
  readonly zone: string
}

/** A client-supplied text, cut to 300 characters to fit the page. */
const short = (text: string | null): string => (text ?? "–").slice(0, 300)
/** A hash in groups, for line breaks and comparison by eye. */
const hash = (sha256: string): string => sha256.replace(/(.{8})(?=.)/g, "$1 ")

/** A time to the second, in UTC and the store's zone: `2026-06-18 12:00:03 UTC`. */
const exact = (instant: string, { snapshot: { language }, zone }: Certified): string =>
  `${momentText(instant, zone, language)} (${zone}) · ${instant}`

const happened = (of: Certified, words: LinkWords): Block => {
  const { acceptance, document, link } = of
  const rows = [
    [document.generated_at, words.cert_generated],
    [link?.created_at ?? null, words.cert_shared],
    [acceptance.accepted_at, words.cert_accepted]
  ] as const
  return {
    kind: "table",
    caption: words.cert_events,
    columns: [
      { title: words.cert_when, share: 3 },
      { title: words.cert_what, share: 2 }
    ],
    rows: rows.flatMap(([at, what]) =>
      at === null ? [] : [{ kind: "row", cells: [{ runs: plain(exact(at, of)) }, { runs: plain(what) }] } as const]
    )
  }
}
const certificateBlocks = (of: Certified): ReadonlyArray<Block> => {
  const { acceptance, document, link, snapshot } = of
  const words = linkWords(snapshot.language)
  const rows = [
    { label: words.cert_document, value: snapshot.title },
    { label: words.cert_name, value: acceptance.name },
    ...(acceptance.email === null ? [] : [{ label: words.cert_email, value: acceptance.email }]),
    { label: words.cert_time, value: exact(acceptance.accepted_at, of) },
    { label: words.cert_address, value: short(acceptance.ip_address) },
    { label: words.cert_program, value: short(acceptance.user_agent) },
    { label: words.cert_text, value: hash(acceptance.text_sha256) },
    { label: words.cert_pdf, value: hash(acceptance.pdf_sha256) },
    ...(link === null
      ? []
      : [{ label: words.cert_link, value: `${document.document_number ?? document.id} · ${link.id}` }])
  ]
  const svg = acceptance.signature_svg
  return [
    { kind: "page_break" },
    { kind: "heading", level: 1, text: words.cert_title },
    { kind: "paragraph", runs: plain(words.cert_lead) },
    { kind: "key_values", rows },
    ...(acceptance.note === null
      ? []
      : [{ kind: "paragraph", small: true, runs: plain(`${words.cert_note}: ${acceptance.note}`) } as const]),
    happened(of, words),
    {
      kind: "signature",
      label: words.cert_signature,
      name: acceptance.name,
      date: momentText(acceptance.accepted_at, of.zone, snapshot.language),
      ...(svg === null ? {} : { drawn: { mime_type: "image/svg+xml", base64: base64Of(signatureSvg(svg)) } as const })
    }
  ]
}

const base64Of = (text: string): string => Base64.encode(text)

/** The accepted document, followed by its certificate. */
export const certified = (of: Certified): PrintDocument => ({
  ...of.snapshot,
  title: of.snapshot.title,
  dated_at: of.acceptance.accepted_at,
  blocks: [...of.snapshot.blocks, ...certificateBlocks(of)]
})
