/** Renders the manifest as a page, or as labels. */
import { html, isolated, type Markup, nothing, pageText, words } from "../../../../server/print/markup.ts"
import { checkOutputPath, heading, palette, type Scene, writeView } from "../../../views/frame.ts"
import type { Manifest } from "./contents.ts"
import { momentText } from "../../../output/days.ts"
import type { CommandContext } from "../../../context/context.ts"
import type { ResolvedStore } from "../../../context/resolve-id.ts"
import { fitsQr, type Label, symbolOf } from "../../../../server/print/sheet.ts"

// Packing list of a case: contents and missing items, with boxes to tick.

/** Renders the page; `symbol`: code next to the name. */
export const manifestPage = (whole: Manifest, scene: Scene, symbol: Markup | undefined): string => {
  const units = count(whole)
  return pageText({
    title: `Manifest: ${whole.name}`,
    style: palette + style,
    body: html`<body>
<div class="top">${heading(words(whole.name), stateText(whole, scene.zone), scene, html`<p class="verdict">${units === 1 ? "1 unit" : `${units} units`}${whole.containers.length > 0 ? ", what lies in cases within included" : ""}. ${verdict(whole)}</p>`)}
${symbol === undefined ? nothing : html`<aside aria-label="Code"><figure>${symbol}<figcaption><code>${words(whole.code)}</code></figcaption></figure></aside>`}</div>
<main>${section(whole, scene, 2)}${sums(whole)}</main>
</body>`
  })
}
const count = (whole: Manifest): number =>
  whole.items.length + whole.containers.reduce((sum, one) => sum + count(one), 0)

const states: { readonly [status: string]: string } = {
  open: "Open",
  sealed: "Sealed",
  dispatched: "Out",
  returned: "Back",
  dissolved: "Dissolved"
}
const stateText = (whole: Manifest, zone: string): string =>
  `${states[whole.status] ?? whole.status}${whole.sealed_at === null ? "" : `, sealed ${momentText(Date.parse(whole.sealed_at), zone)}`}`
const verdict = (whole: Manifest): Markup =>
  whole.is_compliant === null
    ? html`Not sealed yet.`
    : whole.is_compliant
      ? html`<strong class="good">✓ Complete</strong>`
      : html`<strong class="bad">✗ Not complete</strong>`

const section = (whole: Manifest, scene: Scene, level: number): Markup => html`<section>
${level === 2 ? nothing : html`<h2>${words(whole.name)} <code>${words(whole.code)}</code> <small>${stateText(whole, scene.zone)}</small></h2>`}
${whole.notes === null ? nothing : html`<p class="notes">${words(whole.notes)}</p>`}
${missing(whole)}${
  whole.items.length === 0
    ? html`<p class="said">Nothing is in it.</p>`
    : html`<table>
<caption class="unseen">Contents of ${isolated(whole.name)}</caption>
<thead><tr><th scope="col">Slot</th><th scope="col">Product</th><th scope="col">Asset</th><th scope="col">Serial</th><th scope="col">Code</th><th scope="col">Packed</th><th scope="col" class="tick">Out</th><th scope="col" class="tick">Back</th></tr></thead>
<tbody>
${whole.items.map(
  (
    item
  ) => html`<tr><td>${words(item.position ?? "")}</td><th scope="row">${words(item.product_name ?? `Product ${item.product_id}`)}</th><td>${words(item.asset_number ?? "")}${item.out_of_service === undefined ? nothing : html` <strong class="bad">${words(item.out_of_service)}</strong>`}</td><td>${words(item.serial_number ?? "")}</td><td><code>${words(item.code)}</code></td><td class="when">${momentText(Date.parse(item.packed_at), scene.zone)}</td><td class="tick">☐</td><td class="tick">☐</td></tr>
`
)}</tbody></table>`
}
${whole.containers.map((one) => section(one, scene, level + 1))}</section>
`
const missing = (whole: Manifest): Markup => {
  const short = whole.slots.filter(({ satisfied }) => !satisfied)
  return short.length === 0
    ? nothing
    : html`<p class="bad">Missing: ${short.map((slot, at) => html`${at === 0 ? "" : ", "}${slot.required - slot.packed} × ${words(slot.product_name ?? `Product ${slot.product_id}`)}`)}</p>`
}

/** Totals by product, for customs and customers. */
const sums = (whole: Manifest): Markup => {
  const byProduct = new Map<number, { readonly name: string; quantity: number }>()
  const add = (one: Manifest): void => {
    for (const { product_id, product_name } of one.items) {
      const sum = byProduct.get(product_id) ?? { name: product_name ?? `Product ${product_id}`, quantity: 0 }
      sum.quantity++
      byProduct.set(product_id, sum)
    }
    one.containers.forEach(add)
  }
  add(whole)
  return byProduct.size === 0
    ? nothing
    : html`<section><h2>Altogether</h2><ul class="sums">${[...byProduct.values()].sort((a, b) => a.name.localeCompare(b.name, "en")).map(({ name, quantity }) => html`<li><b>${quantity}</b> × ${words(name)}</li>`)}</ul></section>`
}

const style = `.top { display: flex; justify-content: space-between; align-items: start; gap: 20px; border-bottom: 2px solid var(--ink); max-width: 1000px; margin: 0 auto; width: 100%; }
figure { margin: 14px 20px 10px; text-align: center; flex: none; max-width: 200px; } figure .symbol { width: 112px; height: 112px; background: #fff; fill: #000; border-radius: 4px; }
code { font: 600 13px ui-monospace, "SF Mono", Consolas, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; white-space: pre-wrap; }
.verdict { margin: 8px 0 0; } .good { color: var(--out-line); } .bad { color: var(--short); font-weight: 600; }
main { padding: 8px 20px 28px; max-width: 1000px; margin: 0 auto; width: 100%; overflow-x: auto; }
section section { border-left: 3px solid var(--edge); padding-left: 14px; margin: 14px 0 0 4px; }
h2 { margin: 14px 0 4px; overflow-wrap: anywhere; } h2 small { font-weight: 400; color: var(--quiet); }
table { border-collapse: collapse; width: 100%; font-size: 13px; font-variant-numeric: tabular-nums; }
caption.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
th, td { text-align: left; padding: 5px 12px 5px 0; border-bottom: 1px solid var(--line); vertical-align: top; font-weight: 400; overflow-wrap: break-word; }
tbody th { font-weight: 600; } thead th { color: var(--quiet); border-bottom: 1px solid var(--edge); }
.when { white-space: nowrap; color: var(--quiet); } .tick { text-align: center; padding-right: 4px; font-size: 15px; } thead .tick { font-size: 13px; }
.notes { white-space: pre-line; } .said { padding: 10px 0; } .sums { list-style: none; margin: 0; padding: 0; columns: 20em; }
@media print { @page { size: A4 portrait; margin: 12mm; } .top, main { max-width: none; } header, main, figure { padding: 0; margin: 0; } main { overflow: visible; } table { font-size: 9pt; } tr { break-inside: avoid; } thead { display: table-header-group; } }
`

export const drawManifest = async (
  context: CommandContext,
  store: ResolvedStore,
  whole: Manifest,
  file: string
): Promise<void> => {
  checkOutputPath(context, file)
  const code = fitsQr(whole.code) ? (await symbolOf("qr", whole.code)).drawing : undefined
  await writeView(
    context,
    file,
    manifestPage(whole, { store: store.name, zone: store.zone, now: Date.now(), source: undefined }, code)
  )
}

/** Labels for the container, nested ones and all units; a unit that is a nested case has only that case's label. */
export const labelsOf = (whole: Manifest, position?: string | null): ReadonlyArray<Label> => [
  { code: whole.code, title: whole.name, more: position ?? null, is_case: true },
  ...whole.containers
    .filter(({ serialised_item_id: unit }) => unit === null)
    .flatMap((box) => labelsOf(box, whole.name)),
  ...whole.items.flatMap((item) => {
    const child = whole.containers.find((one) => one.serialised_item_id === item.serialised_item_id)
    return child === undefined
      ? [
          {
            code: item.code,
            title: item.product_name ?? `Product ${item.product_id}`,
            more: [whole.name, item.position].filter((one) => one !== null).join(", "),
            is_case: false
          }
        ]
      : labelsOf(child, [whole.name, item.position].filter((one) => one !== null).join(", "))
  })
]
