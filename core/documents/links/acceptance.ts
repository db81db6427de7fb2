/** Accepting a quotation at its public link: the rules, the drawn signature and the certificate (rules/billing 3.1). */
import { type Block, plain, type PrintDocument } from "../../pricing/print/blocks.ts"
import { isClosed, order, quotation, statuses, type OpportunityRow } from "../../orders/opportunities/tables/index.ts"
import { dayOf } from "../../values/time.ts"
import type { DocumentAcceptanceRow, DocumentRow } from "../schema.ts"
import { acceptance_effects } from "./api.ts"
import type { Settings } from "../../kernel/index.ts"
import * as Base64 from "effect/encoding/Base64"
import { momentText } from "../../pricing/print/format.ts"
import { type LinkWords, linkWords } from "./words.ts"

// The offer of a quotation as text: its tables, totals and labelled values, without headings and paragraphs. Documents
// of an opportunity make the same offer exactly if these texts are equal, whatever logo, terms or greeting.

const offered = (blocks: ReadonlyArray<Block>): ReadonlyArray<unknown> =>
  blocks.flatMap((block): ReadonlyArray<unknown> => {
    switch (block.kind) {
      case "columns":
        return block.columns.flatMap((column) => offered(column.blocks))
      case "together":
        return offered(block.blocks)
      case "table":
        return [block.columns.map(({ title }) => title), block.rows]
      case "totals":
      case "key_values":
        return [block.rows.map(({ label, value }) => [label, value])]
      default:
        return []
    }
  })
export const offerText = ({ blocks }: Pick<PrintDocument, "blocks">): string => JSON.stringify(offered(blocks))

/** Reason a document cannot be accepted. */
export type NotAccepted = "no_quotation" | "withdrawn" | "closed" | "expired" | "changed"

interface AcceptanceFacts {
  readonly document: DocumentRow
  readonly opportunity: OpportunityRow | undefined
  /** Whether the opportunity still matches the document. */
  readonly is_same: boolean
  readonly now: string
  /** Time zone in which the offer's last day ends. */
  readonly zone: string
}
/** Whether the quotation's last valid day has ended, in the store's time zone. */
export const isPastValidity = (
  { quote_invalid_at }: Pick<OpportunityRow, "quote_invalid_at">,
  now: string,
  zone: string
): boolean => quote_invalid_at !== null && dayOf(Date.parse(now), zone) > dayOf(Date.parse(quote_invalid_at), zone)

/** Whether the document is of a kind that can be accepted; decided without reading the opportunity. */
export const isAcceptable = ({ document_type, documentable_type }: DocumentRow): boolean =>
  document_type === "quotation" && documentable_type === "Opportunity"

export const whyNotAccepted = ({
  document,
  is_same,
  now,
  opportunity,
  zone
}: AcceptanceFacts): NotAccepted | undefined => {
  if (!isAcceptable(document)) return "no_quotation"
  if (document.status !== "generated" && document.status !== "finalised") return "withdrawn"
  if (opportunity === undefined || opportunity.deleted_at !== null || isClosed(opportunity)) return "closed"
  if (isPastValidity(opportunity, now, zone)) return "expired"
  return is_same ? undefined : "changed"
}

type AcceptanceEffect = keyof typeof acceptance_effects

export const acceptanceEffect = (settings: Settings): AcceptanceEffect => {
  const set = settings["documents"]?.["acceptance"]
  return typeof set === "string" && set in acceptance_effects ? (set as AcceptanceEffect) : "reserve"
}

/** A command to run on the opportunity, by endpoint name. */
export interface Following {
  readonly name: string
  readonly body: { readonly [field: string]: number }
}
/** Commands to run on the opportunity after an acceptance, in order. If one is rejected, the rest is skipped. */
export const whatFollows = (
  { state, status }: Pick<OpportunityRow, "state" | "status">,
  effect: AcceptanceEffect
): ReadonlyArray<Following> => {
  if (effect === "none" || state === order) return []
  const { reserved } = statuses
  const quoted: Following = { name: "opportunities.convert_to_quotation", body: {} }
  const reserve: Following = { name: "opportunities.change_status", body: { status: reserved.status } }
  const ordered: Following = { name: "opportunities.convert_to_order", body: {} }
  return [
    ...(state === quotation ? [] : [quoted]),
    ...(state === quotation && status === reserved.status ? [] : [reserve]),
    ...(effect === "order" ? [ordered] : [])
  ]
}

// The page added to an accepted quotation: who, when, from where, and for which text and PDF.

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

/** A time in the store's zone, and as stored: `18/06/2026 14:00 (Europe/Berlin) · 2026-06-18T12:00:03.000Z`. */
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

// A signature drawn on a page: strokes, as pairs of integers on a board. Other data from the browser is dropped, so
// that drawing it later draws lines and runs nothing.

export const board = { width: 600, height: 180 } as const
const signature_chars_max = 100_000

/** Validates the strokes of a drawing, `M12 30L13 31L15 35M…` within the board; undefined if invalid. */
export const strokesIn = (given: string): string | undefined => {
  if (given.length > signature_chars_max || !/^(M\d{1,3} \d{1,3}(L\d{1,3} \d{1,3})*)+$/.test(given)) return undefined
  const inside = [...given.matchAll(/(\d+) (\d+)/g)].every(
    ([, x, y]) => Number(x) <= board.width && Number(y) <= board.height
  )
  return inside ? given : undefined
}
const pen = 'fill="none" stroke="#1c2430" stroke-width="3" stroke-linecap="round" stroke-linejoin="round"'
const { height, width } = board
const signatureSvg = (strokes: string): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">` +
  `<path d="${strokes}" ${pen}/></svg>`
