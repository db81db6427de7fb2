import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Query } from "../../../core/kernel/lists/query.ts"
import { both_engines, owner, viewerWith } from "../../app.ts"
import { Effect } from "effect"
import { render, viewContext } from "../../../core/kernel/lists/render.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import type { Viewer } from "../../../core/kernel/fields/rejection.ts"
import { lampResource, lamps, openShop, type Shop, shop_opened, shopCatalogue } from "./lamp-shop.ts"
import { everyone, moreCustomFields, record, shelf } from "./lamp-stock.ts"

const without = (...ids: ReadonlyArray<number>): ReadonlyArray<number> => everyone.filter((id) => !ids.includes(id))
/** field_predicate=value → matching lamps. Several values are sent as `[]` each. */
type Case = readonly [key: string, value: string | ReadonlyArray<string>, expected: ReadonlyArray<number>]

/** Cases for each key and value, with the lamps that match. */
const casesOf = (by: { readonly [key: string]: { readonly [value: string]: Case[2] } }): ReadonlyArray<Case> =>
  Object.entries(by).flatMap(([key, of]) => Object.entries(of).map(([value, found]): Case => [key, value, found]))

/** Columns that are mostly null. */
const empty = without(1, 2, 4, 5)
const passedOver = (keys: string): ReadonlyArray<Case> => keys.split(" ").map((key): Case => [key, "1", everyone])
const text: ReadonlyArray<Case> = [
  ...casesOf({
    name_eq: { Alpha: [1], alpha: [], "": [] },
    name_not_eq: { Alpha: without(1) },
    label_eq: { "ÄRGER": [1], "O'Brien\"; drop table lamps; --": [8] },
    label_not_eq: { "ÄRGER": without(1, 3) },
    name_lt: { B: [1, 4, 5] },
    name_lteq: { Alpha: [1, 4, 5] },
    name_gt: { axb: [8, 10] },
    name_gteq: { axb: [7, 8, 10] },
    name_cont: { "50%": [4], _: [6], "\\": [8], ALPHA: [1], "%": [4], "": everyone },
    name_not_cont: { U: without(2, 10), "%": without(4) },
    name_start: { ZU: [2, 10], "%": [], _: [], "BACK\\S": [8] },
    name_end: { B: [6, 7], _B: [6], "%": [], SLASH: [8], "\\slash": [8] },
    label_cont: {
      "ärger": [1, 2],
      "ÄRG": [1, 2],
      "a\u0308rger": [1, 2],
      STRASSE: [5],
      "ß": [4],
      "İ": [6],
      "x[Y]": [9]
    },
    label_start: { "i\u0307ST": [6] },
    label_end: { "ÄRGER": [1, 2] },
    label_not_cont: { "ärger": without(1, 2, 3) },
    label_present: { "1": without(3, 7), "0": without(3, 7) },
    label_blank: { "1": [3, 7], "0": [3, 7] },
    label_null: { "0": [3] },
    label_not_null: { "0": without(3) },
    name_in: { "Alpha,Mike": [1, 3], "Alpha, Mike": [1], "": [], "Comma, Name": [] },
    name_not_in: { "Alpha,Mike": without(1, 3) },
    label_not_in: { "ÄRGER,ZULU": without(1, 3, 10) },
    name_true: { "1": [] },
    name_false: { "1": [] },
    bay_eq: { a2: [2], A2: [] },
    bay_cont: { a: [1, 2], B_: [4] },
    bay_start: { b: [4, 5] },
    bay_end: { "1": [1, 4, 5] },
    bay_not_cont: { A: [4, 5, 7] },
    bay_blank: { "": empty },
    bay_present: { "": [1, 2, 4, 5] }
  }),
  ["name_in", ["Alpha", "Mike"], [1, 3]],
  ["name_in", ["Comma, Name"], [9]],
  ["name_not_in", ["Comma, Name", "Mike"], without(3, 9)]
]
const enums: ReadonlyArray<Case> = [
  ...casesOf({
    kind_eq: {
      rental: [1, 5],
      RENTAL: [1, 5],
      "Loss & Damage": [4],
      LossAndDamage: [4],
      LOSS_AND_DAMAGE: [4],
      nonsense: [],
      "": [],
      "&": []
    },
    type_eq: { Rental: [1, 5] },
    kind_not_eq: { Rental: [2, 4], nonsense: [] },
    kind_in: { "Rental,SALE": [1, 2, 5], "nonsense,sale": [2], nonsense: [] },
    kind_not_in: { sale: [1, 4, 5], nonsense: [], "nonsense,sale": [1, 4, 5] },
    kind_null: { "1": empty },
    kind_blank: { "1": empty },
    kind_present: { "1": [1, 2, 4, 5] },
    kind_not_null: { "1": [1, 2, 4, 5] },
    kind_cont: { RENT: [1, 5] },
    kind_end: { _damage: [4] },
    kind_not_cont: { s: [1, 5] },
    method_eq: { "1": [1, 4], Serialised: [2, 5], sERIALISED: [2, 5], "3": [], toString: [] },
    method_not_eq: { bulk: [2, 5], "3": [] },
    method_in: { "Bulk,2": [1, 2, 4, 5] },
    method_not_in: { "1": [2, 5] },
    method_gt: { "1": [2, 5] },
    method_lteq: { bulk: [1, 4] },
    method_null: { "": empty },
    method_cont: { "1": [] },
    is_active_eq: { true: [1, 4], t: [1, 4], false: [2, 5], f: [2, 5], "0": [2, 5], yes: [] },
    active_eq: { "1": [1, 4] },
    is_active_not_eq: { yes: [], true: [2, 5] },
    is_active_in: { "1,0": [1, 2, 4, 5], "1,maybe": [1, 4] },
    is_active_not_in: { t: [2, 5] },
    is_active_true: { "0": [1, 4], "": [1, 4] },
    active_false: { true: [2, 5] },
    is_active_null: { "1": empty },
    is_active_present: { "0": [1, 2, 4, 5] },
    is_active_cont: { t: [] }
  }),
  ["kind_in", ["Rental", "SALE"], [1, 2, 5]],
  ["type_in", ["Rental", "SALE"], [1, 2, 5]],
  ["kind_eq", "__proto__", []],
  ["method_in", ["bulk"], [1, 4]]
]
const numbers: ReadonlyArray<Case> = [
  ...casesOf({
    count_eq: {
      "10": [2, 10],
      "-3": [4],
      "-0": [5],
      ten: [],
      "5.0": [],
      "1e1": [],
      "": [],
      "99999999999999999999": [],
      "5 or 1=1": []
    },
    count_not_eq: { "10": [1, 4, 5, 6], ten: [] },
    count_lt: { "5": [4, 5], ten: [] },
    count_lteq: { "5": [1, 4, 5] },
    count_gt: { "5": [2, 6, 10] },
    count_gteq: { "10": [2, 6, 10] },
    count_in: { "5,10": [1, 2, 10], "5,x": [1], ten: [] },
    count_not_in: { "10,x": [1, 4, 5, 6], ten: [] },
    count_null: { "": [3, 7, 8, 9] },
    count_blank: { "": [3, 7, 8, 9] },
    count_present: { "": without(3, 7, 8, 9) },
    count_cont: { "1": [] },
    count_true: { "1": [] },
    weight_eq: {
      "1.5": [1],
      "1.500": [1],
      "+1.5": [1],
      "1.505": [],
      "1e1": [2],
      "1.50000000000000000001": [],
      "1e400": [],
      NaN: [],
      Infinity: [],
      "0x10": []
    },
    weight_gt: {
      "1.499": [1, 2],
      "1.50000000000000000001": [2],
      "-1e30": [1, 2, 4, 5],
      "99999999999999999999": [],
      "-9223372036854775809": [1, 2, 4, 5]
    },
    weight_lt: {
      "1.501": [1, 4, 5],
      "-0.2": [4],
      "-0.2500000000000000001": [],
      "1e30": [1, 2, 4, 5],
      "1e400": [1, 2, 4, 5],
      "9223372036854775807": [1, 2, 4, 5]
    },
    weight_gteq: { "-0.25": [1, 2, 4, 5], "-0.2500000000000000001": [1, 2, 4, 5] },
    weight_lteq: { "1.4999999999999999999999": [4, 5] },
    weight_not_eq: { "1.50000000000000000001": [1, 2, 4, 5], "10": [1, 4, 5] },
    weight_in: { "10,0": [2, 5] },
    weight_not_in: { "10,x": [1, 4, 5] },
    weight_null: { "": empty },
    price_eq: { "125": [1], "125.00": [1], "0.01": [5], "-0.50": [4], "1.234": [], abc: [] },
    price_gt: { "0": [1, 5] },
    price_lt: { "0": [4] },
    price_in: { "125,0.01": [1, 5] },
    price_null: { "": empty }
  }),
  ["count_in", ["5", "10"], [1, 2, 10]]
]
// A plain date is its midnight UTC, so later times of the day do not match.
const times: ReadonlyArray<Case> = casesOf({
  bought_on_eq: { "2026-01-01": [1], "2026-01-01T10:00:00Z": [1], "2026-02-30": [], tomorrow: [], "0000-01-01": [] },
  bought_on_lteq: { "2026-01-01": [1, 4] },
  bought_on_gt: { "2026-01-01": [2] },
  bought_on_not_eq: { "2026-01-01": [2, 4], tomorrow: [] },
  bought_on_in: { "2026-01-01,2025-12-31,soon": [1, 4] },
  bought_on_lt: { "9999-12-31": [1, 2, 4] },
  bought_on_null: { "": without(1, 2, 4) },
  bought_on_cont: { "2026": [] },
  seen_at_lteq: { "2026-06-15": [1, 4] },
  seen_at_gteq: { "2026-06-15": [2] },
  seen_at_eq: {
    "2026-01-01": [1],
    "2026-01-01T01:00:00+01:00": [1],
    "2026-01-01 00:00": [1],
    "2025-12-31T23:59:59.999Z": [4],
    rubbish: [],
    "0000-01-01": [],
    "9999-12-31T23:59:59-12:00": []
  },
  seen_at_lt: { "2026-01-01": [4] },
  seen_at_in: { "2026-01-01,2026-06-15T10:30:00Z": [1, 2] },
  seen_at_present: { "": [1, 2, 4] }
})
const lists: ReadonlyArray<Case> = [
  ...casesOf({
    tag_list_cont: { red: [1, 2], "50%": [] },
    tag_list_eq: { red: [1, 2], "50% off": [4], '"': [] },
    tag_list_not_cont: { red: without(1, 2) },
    tag_list_not_eq: { red: without(1, 2) },
    tag_list_in: { "blue,Red": [1, 4] },
    tag_list_not_in: { "red,Red": without(1, 2, 4) },
    tag_list_null: { "": empty },
    tag_list_blank: { "": empty },
    tag_list_present: { "": [1, 2, 4, 5] },
    tag_list_not_null: { "": [1, 2, 4, 5] },
    rack_id_eq: { "1": [1, 5], Lighting: [] },
    rack_id_in: { "2,3": [2, 4] },
    rack_id_null: { "": empty },
    "homeRack.name_eq": { Lighting: [1, 5] },
    "home_rack.name_eq": { Lighting: [1, 5] },
    "homeRack.name_cont": { LIGHT: [1, 4, 5] },
    "homeRack.name_not_eq": { Lighting: [2, 4] },
    "home_rack.floor_gteq": { "1": [2, 4] },
    "home_rack.floor_eq": { ground: [] },
    id_in: { "1,2,99": [1, 2] },
    id_gt: { "8": [9, 10] }
  }),
  ["tag_list_in", ["a,b", "blue"], [1, 5]],
  ...passedOver("homeRack.secret_eq otherRack.name_eq tag_list_start tag_list_end tag_list_lt tag_list_lteq"),
  ...passedOver("tag_list_gt tag_list_gteq tag_list_true tag_list_false")
]
const custom: ReadonlyArray<Case> = [
  ...casesOf({
    "cf.power_eq": { "12.5": [1], much: [], "12.50000000000000000001": [] },
    "cf.101_eq": { "12.50": [1] },
    "cf.power_gt": { "9.5": [1, 4], "12.49999999999999999999": [1, 4] },
    "cf.power_lt": { "100": [1, 2, 5], "-1": [5], "1e400": [1, 2, 4, 5] },
    "cf.power_gteq": { "-1.5": [1, 2, 4, 5] },
    "cf.power_in": { "9,100": [2, 4] },
    "cf.power_not_eq": { "9": [1, 4, 5] },
    "cf.power_null": { "": empty },
    "cf.power_not_null": { "": [1, 2, 4, 5] },
    "cf.finish_eq": { "Matt Black": [1], "matt black": [] },
    "cf.finish_cont": { MATT: [1], "ärger": [2] },
    "cf.finish_start": { "ÄRG": [2], "50%": [4] },
    "cf.102_end": { LICH: [2] },
    "cf.finish_not_cont": { "ärger": [1, 4] },
    "cf.finish_lt": { N: [1, 4] },
    "cf.finish_blank": { "": without(1, 2, 4) },
    "cf.finish_in": { "Matt Black,50% grey": [1, 4] },
    "cf.finish_present": { "": [1, 2, 4] },
    "cf.dimmable_true": { "0": [1] },
    "cf.dimmable_false": { "": [2] },
    "cf.dimmable_eq": { t: [1], perhaps: [] },
    "cf.103_eq": { "0": [2] },
    "cf.dimmable_not_eq": { "1": [2] },
    "cf.dimmable_null": { "": without(1, 2) },
    "cf.dimmable_in": { "true,false": [1, 2] },
    "cf.colour_eq": { "11": [1], Warm: [1], Purple: [] },
    "cf.104_eq": { wARM: [1] },
    "cf.colour_in": { "Warm,Cold": [1, 2] },
    "cf.colour_not_eq": { Warm: [2], Purple: [] },
    "cf.colour_blank": { "": without(1, 2) },
    "cf.modes_cont": { cold: [1, 2] },
    "cf.modes_eq": { "11": [1], Purple: [] },
    "cf.105_in": { "Warm,Größe": [1] },
    "cf.modes_not_cont": { Warm: without(1) },
    "cf.modes_not_in": { "11,12": without(1, 2) },
    "cf.modes_blank": { "": without(1, 2) },
    "cf.modes_null": { "": without(1, 2) },
    "cf.modes_present": { "": [1, 2] },
    "cf.modes_not_null": { "": [1, 2] },
    "cf.modes_start": { Warm: everyone },
    "cf.tested_on_lteq": { "2026-02-01": [1] },
    "cf.tested_on_eq": { "2026-02-01T23:00:00Z": [1] },
    "cf.tested_on_lt": { "2026-02-01": [] },
    "cf.serviced_at_eq": { "2026-02-01T09:00:00+01:00": [1] },
    "cf.serviced_at_gt": { "2026-02-01": [1] },
    "cf.109_lteq": { "2026-02-01": [] }
  }),
  // Fields that are unknown, inactive, not searchable or of another module are ignored.
  ...passedOver(
    "cf.secret_eq cf.106_eq cf.old_eq cf.107_eq cf.foreign_eq cf.999_eq cf._eq cf.__proto___eq cf.constructor_eq"
  )
]
const hostile: ReadonlyArray<Case> = [
  ...casesOf({
    name_eq: { "\u0000": [], "' or 1=1 --": [] },
    name_cont: { "a\u0000b": [] },
    label_null: { "\u0000": [3] },
    count_eq: { "\u0000": [] }
  }),
  ...passedOver("eq _eq not_eq null name name_matches name_EQ Name_eq cost_eq batch_eq deleted_at_null name_folded_eq"),
  ...passedOver(`"name"_eq name;_eq __proto___eq constructor_eq toString_cont constructor.name_eq hasOwnProperty_null`),
  ...["name'; drop table lamps; --_eq", 'name" = name --_eq', "name\u0000_eq"].map((key): Case => [key, "1", everyone]),
  [`${"long".repeat(20_000)}_eq`, "1", everyone],
  ["tag_list_in", ["red", "\u0000"], [1, 2]],
  ["name_in", ["Alpha", "\u0000"], [1]],
  ["name_cont", "x".repeat(60_000), []],
  ["label_start", "%".repeat(60_000), []],
  ["name_eq", "x".repeat(60_000), []]
]
const inQuery = ([key, value]: Case): Query =>
  typeof value === "string" ? [[`q[${key}]`, value]] : value.map((one) => [`q[${key}][]`, one] as const)

describe.each(both_engines)("lists on %s", (engine) => {
  let shop: Shop
  beforeAll(async () => {
    shop = await openShop(engine)
    await shop.run(record([...shelf, ...moreCustomFields(40)]))
  })
  afterAll(() => shop.close())
  const list = async (query: string) => (await shop.call("GET", `/api/v1/lamps?${query}`)).body

  describe.each(Object.entries({ text, enums, numbers, times, lists, custom, hostile }))(
    "filtered by %s",
    (_name, cases) => {
      it.each(cases.map((one) => [one[0].slice(0, 40), String(one[1]).slice(0, 40), one] as const))(
        "return the matching rows for %s = %s",
        async (_key, _value, one) => {
          expect(await shop.found(inQuery(one))).toEqual(one[2])
        }
      )
    }
  )

  it("match all of several filters, also on one field", async () => {
    expect(await shop.found("q[count_gteq]=0&q[count_lt]=10&q[kind_eq]=rental")).toEqual([1, 5])
    expect(await shop.found("q[kind_eq]=rental&q[name_start]=a&q[nonsense_eq]=1")).toEqual([1])
  })
  it("use the last of repeated filters, and combine the values of numbered keys", async () => {
    expect(await shop.found("q[name_eq]=Mike&q[name_eq]=Alpha")).toEqual([1])
    expect(await shop.found("q[name_in][0]=Mike&q[name_in][1]=Alpha")).toEqual([1, 3])
  })
  it("ignore a malformed filter", async () => {
    const filters = "q=name q[]=x q[[name_eq]]=x q[name_eq=x q[name_eq]]=x q[name_eq][x]=x q[]_eq=x q[name][eq]=x"
    for (const query of [...filters.split(" "), "q[name_eq][__proto__]=x", "__proto__[]=x"])
      expect([query, await shop.found(query)]).toEqual([query, everyone])
  })
  it("accept more than a thousand filters in one request", async () => {
    const names = Array.from({ length: 40 }, (_, at) => [`cf.extra ${at}`, `cf.${200 + at}`]).flat()
    const query = names.flatMap((name): Query => ["null", "blank"].map((predicate) => [`q[${name}_${predicate}]`, "1"]))
    expect(await shop.found(query)).toEqual(everyone)
    const predicates = "eq not_eq lt lteq gt gteq cont not_cont start end present not_null in not_in".split(" ")
    const all = names.flatMap((name): Query => predicates.map((predicate) => [`q[${name}_${predicate}]`, "x"]))
    expect(await shop.found(all)).toEqual([])
  })
  it("accept thousands of values in one filter", async () => {
    const many = Array.from({ length: 5_000 }, (_, at) => `t${at}`).join(",")
    expect(await shop.found([["q[tag_list_in]", `${many},red`]])).toEqual([1, 2])
    expect(await shop.found([["q[tag_list_not_in]", `${many},red`]])).toEqual(without(1, 2))
    expect(await shop.found([["q[name_in]", `${many},Alpha`]])).toEqual([1])
    const numbers = Array.from({ length: 5_000 }, (_, at) => at + 100).join(",")
    expect(await shop.found([["q[count_in]", numbers]])).toEqual([6])
    expect(await shop.found([["q[cf.modes_in]", `${numbers},11`]])).toEqual([1])
    expect(await shop.found([["q[id_in]", Array.from({ length: 40_000 }, () => "1").join(",")]])).toEqual([1])
  })

  const byName = [4, 5, 6, 1, 7, 8, 9, 3, 2, 10]
  const byNameBack = [2, 10, 3, 9, 8, 7, 1, 6, 5, 4]
  it.each<readonly [query: string, found: ReadonlyArray<number>]>([
    ["sort=name", byName],
    ["sort=-name", byNameBack],
    ["q[s]=name desc", byNameBack],
    ["q[s]=name", byName],
    ["q[s]=name asc", byName],
    ["q[s]=name DESC", byNameBack],
    ["q[s][]=name desc&q[s][]=count", byNameBack],
    ["sort=name&q[s]=count desc", byName],
    ["sort=-id", [...everyone].reverse()],
    // One field only; unsupported sorts are ignored.
    ..."name,count|secret||-|--name|constructor|__proto__|cf.power|name_folded|tag_list|name;drop table lamps"
      .split("|")
      .map((sort) => [`sort=${sort}`, everyone] as const),
    // Nulls come last, descending first; equal values are sorted by id.
    ["sort=count", [4, 5, 1, 2, 10, 6, 3, 7, 8, 9]],
    ["sort=-count", [3, 7, 8, 9, 6, 2, 10, 1, 5, 4]],
    ["sort=weight", [4, 5, 1, 2, 3, 6, 7, 8, 9, 10]],
    ["sort=-is_active", [3, 6, 7, 8, 9, 10, 1, 4, 2, 5]],
    ["sort=type", [4, 1, 5, 2, 3, 6, 7, 8, 9, 10]],
    ["sort=-seen_at", [3, 5, 6, 7, 8, 9, 10, 2, 1, 4]],
    // Lower-cased, then byte by byte: İ becomes an i with a dot above, and ä follows z.
    ["sort=label", [7, 6, 8, 5, 4, 9, 10, 1, 2, 3]]
  ])("are ordered by %s", async (query, expected) => {
    expect(await shop.found(query)).toEqual(expected)
  })

  it("contain every row once over all pages, in each of five sort orders", async () => {
    for (const sort of ["", "sort=kind", "sort=-kind", "sort=name", "sort=-count"]) {
      const pages = []
      for (let page = 1; page <= 4; page++) pages.push(...(await shop.found(`${sort}&page=${page}&per_page=3`)))
      expect(pages).toEqual(await shop.found(sort))
    }
  })
  it.each([
    ["", { total: 10, per_page: 20, page: 1 }],
    ["per_page=0&page=-3", { total: 10, per_page: 1, page: 1 }],
    ["per_page=1000", { total: 10, per_page: 100, page: 1 }],
    ["per_page=many&page=last", { total: 10, per_page: 20, page: 1 }],
    ["per_page=&page=", { total: 10, per_page: 20, page: 1 }],
    ["per_page=2.5", { total: 10, per_page: 20, page: 1 }],
    ["per_page=99999999999999999999", { total: 10, per_page: 100, page: 1 }],
    ["per_page=-99999999999999999999", { total: 10, per_page: 1, page: 1 }],
    ["page=2&per_page=4", { total: 10, per_page: 4, page: 2 }],
    ["page=2&q[count_eq]=10", { total: 2, per_page: 20, page: 2 }]
  ])("report total, page size and page number for ?%s", async (query, meta) => {
    expect((await list(query)).meta).toEqual(meta)
  })
  it("are empty past the last page, with the total", async () => {
    for (const page of ["4", "999999", "99999999999999999999"]) {
      const body = await list(`page=${page}&per_page=5`)
      expect([page, body.lamps, body.meta.total]).toEqual([page, [], 10])
      expect(body.meta.page).toBeGreaterThan(2)
    }
  })
  it("accept includes in camelCase and snake_case, and ignore unknown ones", async () => {
    for (const include of [
      "homeRack",
      "home_rack",
      " homeRack , secretRelation",
      "home_rack.lamps,constructor,__proto__"
    ]) {
      const { lamps } = await list(`q[id_in]=1,3&include=${encodeURIComponent(include)}`)
      expect(lamps.map((lamp: any) => lamp.home_rack?.name)).toEqual(["Lighting", undefined])
    }
    const [lamp] = (await list("q[id_eq]=1")).lamps
    expect([lamp.rack, lamp.home_rack]).toEqual([null, null])
    const [, nested] = (await shop.call("GET", "/api/v1/racks?include=lamps.homeRack")).body.racks
    expect(nested.lamps.map((one: any) => [one.id, one.home_rack.name])).toEqual([[2, "Audio"]])
  })
  it("show custom fields and their list values by name", async () => {
    const { lamps } = await list("q[id_in]=1,4")
    expect(lamps.map((lamp: any) => lamp.custom_fields)).toMatchObject([
      {
        power: "12.5000",
        finish: "Matt Black",
        dimmable: true,
        colour: "Warm",
        modes: ["Warm", "Cold"],
        secret: "s",
        tested_on: "2026-02-01"
      },
      { power: "100.0000", dimmable: null, colour: null, modes: [], serviced_at: null }
    ])
    expect(lamps[0].custom_fields).not.toHaveProperty("old")
  })
  it("render many rows as they render each", async () => {
    const rendered = async (viewer: Viewer) => {
      const context = viewContext({ viewer, settings: {}, now: shop_opened, composed: shopCatalogue.composed })
      const [rows, many, each] = await shop.run(
        Effect.gen(function* () {
          const found = yield* Store.find(lamps, {}, { order: ["id"] })
          const rows = [...found, ...found, ...found, ...found]
          const many = yield* render(lampResource, rows, [], context)
          const each = yield* Effect.forEach(rows, (row) => render(lampResource, [row], [], context))
          return [rows, many, each.flat()]
        })
      )
      expect(rows.length).toBeGreaterThanOrEqual(32)
      expect(JSON.stringify(many)).toBe(JSON.stringify(each))
      return many
    }
    expect((await rendered(owner))[0]).toHaveProperty("cost")
    expect((await rendered(viewerWith(["lamps.view"], ["lamps:read"])))[0]).not.toHaveProperty("cost")
    expect((await rendered(owner))[0]).toHaveProperty("cost")
  })
  it("omit costs for users without costs.view", async () => {
    const seller = viewerWith(["lamps.view"], ["lamps:read"])
    const { body } = await shop.call("GET", "/api/v1/lamps?q[id_eq]=1", undefined, seller)
    expect(body.lamps[0]).not.toHaveProperty("cost")
    expect((await list("q[id_eq]=1")).lamps[0].cost).toBe("0.00")
  })
})
