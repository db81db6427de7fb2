/** The thirty jobs of the week, with the day each is quoted. Times are on the store's clock. */
import type { Sku, StoreName } from "./stock.ts"

const days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"] as const
export type Day = (typeof days)[number]
export const dateOf = (day: Day): string => `2027-07-${String(5 + days.indexOf(day)).padStart(2, "0")}`

export interface Job {
  readonly subject: string
  readonly customer: string
  readonly store: StoreName
  readonly quoted: Day
  /** State to which the job is brought that day. */
  readonly as: "draft" | "quotation" | "order"
  readonly from: readonly [Day, string]
  readonly to: readonly [Day, string]
  readonly lines: { readonly [S in Sku]?: number }
}
const [acme, zoe, kino, band] = ["Acme Events", "Zoë's Bühne", "Kino Nord", "Band on Tour"]
type Row = readonly [
  subject: string,
  customer: string,
  store: StoreName,
  quoted: Day,
  as: Job["as"],
  from: readonly [Day, string],
  to: readonly [Day, string],
  lines: Job["lines"]
]
const rows: ReadonlyArray<Row> = [
  ["Gala", acme, "Bristol", "Mon", "order", ["Mon", "14:00"], ["Wed", "10:00"], { HEAD: 4, CABLE: 10, CAMKIT: 1 }],
  ["Vernissage", zoe, "Bristol", "Mon", "order", ["Mon", "15:00"], ["Tue", "12:00"], { PAR: 8, CABLE: 6 }],
  ["Premiere", kino, "Berlin", "Mon", "order", ["Mon", "16:00"], ["Tue", "11:00"], { HEAD: 2, PAR: 4 }],
  ["Seminar", acme, "Bristol", "Mon", "order", ["Tue", "09:00"], ["Thu", "17:00"], { CAM: 1, LENS: 1, CABLE: 4 }],
  ["Club night", band, "Bristol", "Mon", "order", ["Tue", "14:00"], ["Wed", "12:00"], { HEAD: 2, PAR: 6, CABLE: 8 }],
  ["Fashion show", zoe, "Berlin", "Mon", "order", ["Wed", "10:00"], ["Thu", "10:00"], { HEAD: 3, CABLE: 10 }],
  ["Trade fair", acme, "Bristol", "Mon", "quotation", ["Thu", "09:00"], ["Sat", "18:00"], { PAR: 12, CABLE: 20 }],
  ["Wedding", zoe, "Bristol", "Mon", "draft", ["Sat", "12:00"], ["Sun", "12:00"], { PAR: 6 }],
  ["Open air", band, "Bristol", "Tue", "order", ["Wed", "13:00"], ["Fri", "12:00"], { HEAD: 2, PAR: 10, CABLE: 12 }],
  ["Documentary", kino, "Bristol", "Tue", "order", ["Wed", "09:00"], ["Fri", "18:00"], { CAMKIT: 1, CABLE: 2 }],
  ["Reading", zoe, "Berlin", "Tue", "order", ["Thu", "15:00"], ["Fri", "11:00"], { PAR: 4, CABLE: 5 }],
  ["Press day", acme, "Bristol", "Tue", "order", ["Thu", "10:00"], ["Fri", "16:00"], { HEAD: 2, CABLE: 6 }],
  ["Rehearsal", band, "Bristol", "Tue", "quotation", ["Fri", "09:00"], ["Fri", "20:00"], { HEAD: 2 }],
  ["Festival", band, "Bristol", "Tue", "order", ["Fri", "13:00"], ["Sun", "14:00"], { PAR: 16, CABLE: 30 }],
  ["Charity run", acme, "Bristol", "Wed", "order", ["Thu", "12:00"], ["Thu", "20:00"], { PAR: 4, CABLE: 6 }],
  ["Short film", kino, "Berlin", "Wed", "order", ["Fri", "09:00"], ["Sat", "18:00"], { CAMKIT: 1, HEAD: 2 }],
  ["Ballet", zoe, "Bristol", "Wed", "order", ["Fri", "15:00"], ["Sat", "23:00"], { HEAD: 3, PAR: 4 }],
  ["Podcast", kino, "Bristol", "Wed", "order", ["Sat", "09:00"], ["Sun", "10:00"], { CAM: 1, CABLE: 3 }],
  ["Street party", band, "Berlin", "Wed", "quotation", ["Sat", "10:00"], ["Sun", "12:00"], { PAR: 8, CABLE: 10 }],
  ["Matinee", zoe, "Bristol", "Thu", "order", ["Fri", "10:00"], ["Fri", "19:00"], { HEAD: 1, CABLE: 4 }],
  ["Interview", kino, "Bristol", "Thu", "order", ["Fri", "12:00"], ["Sat", "12:00"], { CAM: 1, LENS: 1 }],
  ["Regatta", acme, "Bristol", "Thu", "order", ["Sat", "08:00"], ["Sun", "16:00"], { HEAD: 4, CABLE: 12 }],
  ["Garden party", zoe, "Berlin", "Thu", "order", ["Sat", "09:00"], ["Sun", "11:00"], { PAR: 6, HEAD: 1 }],
  ["Award night", acme, "Bristol", "Fri", "order", ["Sat", "14:00"], ["Sun", "13:00"], { PAR: 6, CABLE: 8 }],
  ["Flash mob", band, "Berlin", "Fri", "order", ["Sat", "08:00"], ["Sat", "22:00"], { CABLE: 18 }],
  ["Choir", zoe, "Bristol", "Fri", "quotation", ["Sun", "12:00"], ["Sun", "22:00"], { HEAD: 2, CAM: 1 }],
  ["Late show", band, "Berlin", "Fri", "order", ["Sat", "20:00"], ["Sun", "10:00"], { CABLE: 8 }],
  ["Brunch", acme, "Bristol", "Sat", "order", ["Sun", "08:00"], ["Sun", "15:00"], { CABLE: 5, HEAD: 1 }],
  ["Flea market", kino, "Berlin", "Sat", "order", ["Sun", "07:00"], ["Sun", "17:00"], { CABLE: 6 }],
  ["Closing night", band, "Bristol", "Sat", "order", ["Sun", "17:00"], ["Sun", "23:00"], { HEAD: 1, PAR: 2 }]
]
export const jobs: ReadonlyArray<Job> = rows.map(([subject, customer, store, quoted, as, from, to, lines]) => ({
  subject,
  customer,
  store,
  quoted,
  as,
  from,
  to,
  lines
}))

/** Hours ahead of UTC; both stores have daylight saving time all week. */
const hours_ahead: { readonly [S in StoreName]: number } = { Bristol: 1, Berlin: 2 }
export const instantAt = (store: StoreName, [day, time]: readonly [Day, string]): number =>
  Date.parse(`${dateOf(day)}T${time}:00Z`) - hours_ahead[store] * 3_600_000
/** A day of a store as instants in milliseconds: [from, to). */
export const dayAt = (store: StoreName, date: string): readonly [number, number] => {
  const from = Date.parse(`${date}T00:00:00Z`) - hours_ahead[store] * 3_600_000
  return [from, from + 86_400_000]
}
