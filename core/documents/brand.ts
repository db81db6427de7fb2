/** Branding and texts of a document: from the most specific layout, else the settings. */
import { Effect } from "effect"
import type { PaperOptions } from "../billing/paper/letter.ts"
import { settingNumber, Store, type Settings } from "../kernel/index.ts"
import { document_layouts, type DocumentLayoutRow, type DocumentType } from "./schema.ts"

/** Texts on the document itself; they may contain fields. */
export const text_places = ["intro", "terms", "footer"] as const
/** Texts of the mail; they may contain fields. */
export const mail_places = ["mail_subject", "mail_text"] as const

const said_columns = ["logo_attachment_id", "accent", "page_size", ...text_places, ...mail_places] as const
type Said = Pick<DocumentLayoutRow, (typeof said_columns)[number]>
type Layout = Said & Pick<DocumentLayoutRow, "store_id" | "document_type">

/** Key of a layout as one text, as comparing two nullable columns would not match nulls. */
export const scopeOf = (store_id: number | null, document_type: DocumentType | null): string =>
  `${store_id ?? "-"}/${document_type ?? "-"}`

/** Each field from the most specific layout that has it: store and type, store, type, neither. */
export const narrowest = (
  layouts: ReadonlyArray<Layout>,
  document_type: DocumentType,
  store_id: number | null
): Partial<Said> => {
  const fitting = layouts
    .filter((one) => one.store_id === null || one.store_id === store_id)
    .filter((one) => one.document_type === null || one.document_type === document_type)
    .toSorted((a, b) => widthOf(b) - widthOf(a))
  const said = (one: Layout) =>
    Object.fromEntries(
      said_columns.flatMap((name) => (one[name] === null || one[name] === "" ? [] : [[name, one[name]]]))
    )
  return Object.assign({}, ...fitting.map(said))
}
const widthOf = ({ document_type, store_id }: Layout): number =>
  (store_id === null ? 2 : 0) + (document_type === null ? 1 : 0)

interface Brand {
  readonly layout: Partial<Said>
  readonly logo_sha256: string | null
}
/** SHA-256 of the logo's content; null if missing or deleted. Read by SQL, as the table is declared after documents. */
const logoOf = Effect.fnUntraced(function* (id: number): Store.Reads<string | null> {
  if (id === 0) return null
  const { sql } = yield* Store
  const [row] = yield* sql<{ sha256: string }>`select sha256 from attachments where id = ${id}`
  return row?.sha256 ?? null
})
export const brandOf = Effect.fnUntraced(function* (
  document_type: DocumentType,
  store_id: number | null,
  settings: Settings
): Store.Reads<Brand> {
  const scopes = [document_type, null].flatMap((type) => [store_id, null].map((id) => scopeOf(id, type)))
  const layouts = yield* Store.find(document_layouts, { scope: [...new Set(scopes)] })
  const layout = narrowest(layouts, document_type, store_id)
  return {
    layout,
    logo_sha256: yield* logoOf(layout.logo_attachment_id ?? settingNumber(settings, "invoicing", "logo_attachment_id"))
  }
})

/** The layout's non-empty texts, unrendered, by place. */
export const fragmentsOf = <P extends (typeof text_places)[number] | (typeof mail_places)[number]>(
  { layout }: Brand,
  places: ReadonlyArray<P>
): { readonly [place in P]?: string } =>
  Object.assign({}, ...places.map((place) => (layout[place]?.trim() ? { [place]: layout[place] } : {})))

type Filled = { readonly [place: string]: string }
/** Options of the document, overridden by the layout's branding and rendered texts. */
export const branded = (options: PaperOptions, { layout, logo_sha256 }: Brand, filled: Filled): PaperOptions => ({
  ...options,
  logo_sha256,
  accent: layout.accent ?? options.accent,
  page_size: layout.page_size ?? options.page_size,
  intro: filled["intro"]?.trim() || options.intro,
  terms: filled["terms"]?.trim() || options.terms,
  footer: filled["footer"]?.trim() || options.footer
})
