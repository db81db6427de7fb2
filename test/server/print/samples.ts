/** Sample documents: quotes of any length, in several currencies and scripts. */
import { scaleOf } from "../../../core/values/money.ts"
import { fadingPng } from "./png.ts"
import { type Block, type Group, plain, type PrintDocument, type Row } from "../../../core/pricing/print/blocks.ts"
import { dateText, moneyText, pageLabel, percentText, quantityText } from "../../../core/pricing/print/format.ts"
import { fromScaled } from "../../../core/values/decimal.ts"

export interface Sample {
  readonly lines: number
  readonly currency: string
  readonly language: string
  readonly watermark?: "DRAFT" | "VOID"
  readonly logo?: "png" | "svg"
}

export const arabic_name = "شركة الأضواء للفعاليات"
const hebrew_name = "תאורה ובמה בע״מ"
const greek_name = "Φωτισμός Αθηνών Α.Ε."
const cyrillic_name = "ООО «Свет и Звук»"

const products = [
  ["Robe MegaPointe", "Moving head, 470 W, in twin flight case, with clamps and safety bonds"],
  ["d&b V8 loudspeaker", undefined],
  ["Chain hoist 500 kg, D8+", "Chain bag, control cable 20 m"],
  ["LED wall panel P2.6, 500 × 500 mm", "Indoor, 1,200 nits; processing and spares included in the price of the wall"],
  ["Φωτιστικό σποτ PAR 64", undefined],
  ["Прожектор следящий 2500 Вт", "С подставкой и фильтрами"],
  [arabic_name, "اسم عربي مع رقم 250 وكلمة LED في الوسط"],
  ["Cable CEE 63 A / 25 m – H07RN-F 5G16", undefined],
  ["Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaftskabelbrücke", undefined],
  ["Confetti 🎉 cannon ✨ électrique", 'Piñata & Friends <b>not bold</b> "quoted"']
] as const

/** A document of only these blocks. */
export const of = (blocks: ReadonlyArray<Block>, more: Partial<PrintDocument> = {}): PrintDocument => ({
  format: "flightcase.document",
  version: 2,
  title: "Sample",
  language: "en",
  dated_at: "2026-11-22T09:30:00Z",
  page: { size: "A4" },
  blocks,
  ...more
})

export const quote = ({ currency, language, lines, logo, watermark }: Sample): PrintDocument => {
  const scale = scaleOf(currency)
  const money = (minor: bigint): string => moneyText(fromScaled(minor, scale), currency, language)
  const unit = 10n ** BigInt(scale)
  let sum = 0n
  const rows: Array<Row | Group> = []
  for (let at = 0; at < lines; at++) {
    if (lines > 10 && at % 14 === 0) {
      const names = ["Lighting", "Audio", "Rigging", "Video", "Power"]
      rows.push({ kind: "group", text: names[(at / 14) % names.length] ?? "More" })
    }
    const [name, note] = products[at % products.length] ?? ["Lamp", undefined]
    const quantity = BigInt(1 + ((at * 7) % 24))
    const price = unit * BigInt(12 + ((at * 37) % 900)) + (scale === 0 ? 0n : BigInt((at * 5) % 100))
    sum += quantity * price
    const row: Row = {
      kind: "row",
      ...(at % 5 === 4 ? { depth: 1 } : {}),
      cells: [
        { runs: plain(name), ...(note === undefined ? {} : { note }) },
        { runs: plain(quantityText(String(quantity), language)) },
        { runs: plain(quantityText("3.00", language)) },
        { runs: plain(money(price)) },
        { runs: plain(money(quantity * price)) }
      ]
    }
    rows.push(row)
  }
  const tax = (sum * 19n + 50n) / 100n
  const logo_block: ReadonlyArray<Block> =
    logo === undefined
      ? []
      : [
          {
            kind: "image",
            picture: logo === "svg" ? svg_logo : pngLogo(),
            alt: "Northlight Rental",
            width_mm: 46,
            height_max_mm: 16
          }
        ]
  return {
    format: "flightcase.document",
    version: 2,
    title: "Quotation Q-2026-00042",
    language,
    author: "Northlight Rental GmbH",
    dated_at: "2026-11-22T09:30:00Z",
    page: { size: language === "en-US" ? "LETTER" : "A4" },
    header: { start: plain("Northlight Rental GmbH"), end: plain("Q-2026-00042") },
    footer: {
      lines: [
        "Northlight Rental GmbH · Hafenstraße 12 · 20457 Hamburg · VAT DE123456789",
        "IBAN DE02 1203 0000 0000 2020 51 · BIC BYLADEM1001 · Managing director: Zoë Łukasiewicz"
      ],
      page_label: pageLabel(language)
    },
    ...(watermark === undefined ? {} : { watermark }),
    blocks: [
      {
        kind: "columns",
        columns: [
          {
            share: 1.2,
            blocks: [
              ...logo_block,
              { kind: "paragraph", small: true, runs: plain("Northlight Rental GmbH, Hafenstraße 12, 20457 Hamburg") },
              {
                kind: "paragraph",
                runs: [
                  { text: `${arabic_name}\n`, bold: true },
                  { text: `${greek_name}\n${cyrillic_name}\n${hebrew_name}\n12 Example Street, Kuwait City` }
                ]
              }
            ]
          },
          {
            share: 1,
            blocks: [
              {
                kind: "key_values",
                rows: [
                  { label: "Quotation", value: "Q-2026-00042" },
                  { label: "Date", value: dateText("2026-11-22", language) },
                  { label: "Valid until", value: dateText("2026-12-06", language) },
                  { label: "Your contact", value: "Ana-María Çelik" },
                  {
                    label: "Hire period",
                    value: `${dateText("2026-12-01", language, "figures")} – ${dateText("2026-12-04", language, "figures")}`
                  }
                ]
              }
            ]
          }
        ]
      },
      { kind: "heading", level: 1, text: "Quotation Q-2026-00042" },
      {
        kind: "paragraph",
        runs: [
          { text: "Dear Ms Al-Sabah, thank you for asking. We offer the equipment below for the " },
          { text: "Winter Gala", bold: true },
          { text: " of ‏" + arabic_name + "‏, as spoken of " },
          { text: "last week", italic: true },
          { text: ". You can read and accept it " },
          { text: "on this page", link: "https://example.com/d/abc" },
          { text: "." }
        ]
      },
      {
        kind: "table",
        caption: "Equipment",
        striped: true,
        columns: [
          { title: "Description", share: 5 },
          { title: "Quantity", share: 1, alignment: "end" },
          { title: "Days", share: 0.8, alignment: "end" },
          { title: "Price", share: 1.6, alignment: "end" },
          { title: "Amount", share: 1.8, alignment: "end" }
        ],
        rows
      },
      {
        kind: "totals",
        rows: [
          { label: "Net", value: money(sum) },
          { label: `VAT ${percentText("19.00", language)}`, value: money(tax) },
          { label: "Total", value: money(sum + tax), strong: true }
        ]
      },
      {
        kind: "together",
        blocks: [
          { kind: "heading", level: 2, text: "Terms" },
          {
            kind: "paragraph",
            runs: plain(
              "Equipment stays our property. Loss and damage are charged at replacement value. Collection from 08:00, return by 18:00.\nPayment within 14 days of the invoice's date."
            )
          }
        ]
      },
      {
        kind: "columns",
        columns: [
          {
            share: 1,
            blocks: [
              {
                kind: "signature",
                label: "For the customer",
                name: "Fatima Al-Sabah",
                date: dateText("2026-11-24", language)
              }
            ]
          },
          { share: 1, blocks: [{ kind: "signature", label: "For Northlight Rental GmbH" }] }
        ]
      },
      {
        kind: "columns",
        columns: [
          {
            share: 1,
            blocks: [
              {
                kind: "code",
                symbology: "qr",
                value:
                  "BCD\n002\n1\nSCT\nBYLADEM1001\nNorthlight Rental GmbH\nDE02120300000000202051\nEUR1190.00\n\n\nQ-2026-00042",
                caption: "Scan to pay",
                width_mm: 28
              }
            ]
          },
          {
            share: 1,
            blocks: [{ kind: "code", symbology: "code128", value: "Q-2026-00042", alignment: "end", width_mm: 55 }]
          }
        ]
      }
    ]
  }
}

const svg_logo = {
  mime_type: "image/svg+xml" as const,
  base64: Buffer.from(
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 230 60"><defs><linearGradient id="g"><stop offset="0" stop-color="#0b5fa5"/><stop offset="1" stop-color="#17b0a8"/></linearGradient></defs><rect width="60" height="60" rx="12" fill="url(#g)"/><path d="M14 46V14l32 32V14" fill="none" stroke="#fff" stroke-width="7"/><text x="74" y="40" font-family="Roboto" font-size="30" font-weight="bold" fill="#0b3a63">Northlight</text></svg>`
  ).toString("base64")
}
/** Half transparent, as PDF stores colour and transparency separately. */
const pngLogo = () => ({ mime_type: "image/png" as const, base64: fadingPng(180, 60).toString("base64") })
