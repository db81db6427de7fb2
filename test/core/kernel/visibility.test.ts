/** Every table declares its visibility, by existing permissions and columns, and its redacted rows can be stored. */
import { describe, expect, it } from "vitest"
import { catalogue } from "../../../core/catalogue.ts"
import type { Params } from "../../../core/kernel/endpoints/endpoint.ts"
import { encodeRow } from "../../../core/kernel/store/statement.ts"
import {
  redactedValue,
  type Audience,
  hasPermission,
  visibleColumnsOf
} from "../../../core/kernel/tables/visibility.ts"
import { plainTable, table } from "../../../core/kernel/tables/table.ts"
import {
  boolean,
  choice,
  decimal,
  integer,
  list,
  money,
  ref,
  text,
  timestamp
} from "../../../core/kernel/fields/field.ts"
import { viewerWith } from "../../app.ts"
import { words } from "../../words.ts"

const { permissions } = catalogue
const areas = new Set(permissions.map(({ area }) => area))
const isKnown = (one: string): boolean =>
  one.endsWith(".*") ? areas.has(one.slice(0, -2)) : permissions.some(({ key }) => key === one)
const named = (holders: Audience): ReadonlyArray<string> => (holders === "everyone" ? [] : holders)

describe("visibility of a table's rows", () => {
  it.each(catalogue.tables.map((one) => [one.name, one] as const))(
    "is declared for %s, with existing permissions and columns",
    (_, { columns, visibility }) => {
      expect(visibility).toBeDefined()
      const { by_row, granted_columns = [], all_columns } = visibility!
      expect(
        [all_columns, ...granted_columns.map(({ to }) => to)].flatMap(named).filter((one) => !isKnown(one))
      ).toEqual([])
      expect(granted_columns.flatMap((one) => one.columns).filter((name) => columns[name] === undefined)).toEqual([])
      // A row withheld as a whole cannot be granted by column.
      if (by_row !== undefined) expect(granted_columns).toEqual([])
    }
  )

  it("covers the whole row for users with the permission of a show endpoint", () => {
    const shown = catalogue.endpoints.filter(
      (one) => one.kind === "query" && one.name.endsWith(".show") && one.permission !== null
    )
    expect(shown.length).toBeGreaterThan(20)
    const narrow = shown.flatMap((one) => {
      const [of] = Object.values(one.params as Params).slice(-1)
      // Rows that name their own readers have other tests.
      return of === undefined || !one.path.endsWith("}") || of.table.visibility?.by_row !== undefined
        ? []
        : [one.permission]
            .flat()
            .filter((key) => key !== null && visibleColumnsOf(of.table, viewerWith([key], ["*"])) !== "whole")
            .map((key) => `${one.name} by ${key}`)
    })
    expect(narrow).toEqual([])
  })

  it("never shows the columns of a partial unique index without those of its condition", () => {
    const clashing = catalogue.tables.flatMap((one) =>
      (one.visibility?.granted_columns ?? [])
        .flatMap(({ to }) => named(to).map((key) => key.replace(".*", ".view")))
        .flatMap((permission) => {
          const seen = visibleColumnsOf(one, viewerWith([permission], ["*"]))
          if (seen === "whole" || seen === undefined) return []
          return one.uniques
            .filter(({ columns, where }) => {
              const blank = columns
                .map((column) => column.replace(/_folded$/, ""))
                .filter((column) => !seen.has(column))
              const decides = Object.keys(one.columns).filter((column) =>
                new RegExp(`\\b${column}\\b`).test(where ?? "never")
              )
              return blank.length === 0 && decides.some((column) => !seen.has(column))
            })
            .map(({ columns }) => `${one.name} ${columns.join(", ")} for ${permission}`)
        })
    )
    expect(clashing).toEqual([])
  })

  it("has a storable placeholder for every column, on both engines", () => {
    for (const one of catalogue.tables) {
      for (const dialect of ["sqlite", "pg"] as const) {
        const row = Object.fromEntries(
          Object.keys(one.columns).map((name) => [name, name === one.key ? 7 : redactedValue(one, name, 7)])
        )
        const bound = encodeRow(one, row, dialect)
        for (const [name, field] of Object.entries(one.columns))
          if (!field.nullable) expect(bound[name], `${one.name}.${name}`).not.toBeNull()
      }
    }
  })
})

describe("a user's permissions", () => {
  it.each([
    [["members.view"], "members.*", true],
    [["members.access"], "members.*", false],
    [["members.view"], "members.edit", false],
    [["membership.view"], "members.*", false],
    [[], "members.*", false],
    [["costs.view"], "costs.view", true]
  ] as const)("are matched with a required permission: %j covers %s: %s", (held, wanted, expected) => {
    expect(hasPermission(viewerWith(held, ["*"]), wanted)).toBe(expected)
  })

  const lamps = plainTable(
    "lamps",
    "id",
    { id: integer(), name: text(), price: money(), maker: text() },
    {
      visibility: {
        all_columns: ["products.*"],
        granted_columns: [
          { to: ["stock.*"], columns: ["name"] },
          { to: ["rates.view"], columns: ["price"] },
          { to: "everyone", columns: [] }
        ]
      }
    }
  )
  it.each([
    [["products.edit"], "whole"],
    [["action-log.view"], "whole"],
    [["stock.adjust"], ["id", "name"]],
    [
      ["stock.view", "rates.view"],
      ["id", "name", "price"]
    ],
    [["rates.edit"], ["id"]]
  ] as const)("decide which columns are visible: %j shows %j of the lamps", (held, expected) => {
    const seen = visibleColumnsOf(lamps, viewerWith(held, ["*"]))
    expect(typeof seen === "object" ? [...seen] : seen).toEqual(expected)
  })
  it("show a table without declared visibility only with action-log.view or to the owner", () => {
    const safes = table("safes", { name: text() })
    expect(
      visibleColumnsOf(
        safes,
        viewerWith(
          permissions.map(({ key }) => key).filter((key) => key !== "action-log.view"),
          ["*"]
        )
      )
    ).toBeUndefined()
    expect(visibleColumnsOf(safes, viewerWith(["action-log.view"], ["*"]))).toBe("whole")
    expect(visibleColumnsOf(safes, { ...viewerWith([], ["*"]), is_owner: true })).toBe("whole")
  })
  it("always show the id, the creation time and the deletion time", () => {
    const carts = table(
      "carts",
      { name: text() },
      { visibility: { all_columns: [], granted_columns: [{ to: "everyone", columns: ["name"] }] } }
    )
    expect([...(visibleColumnsOf(carts, viewerWith([], ["*"])) as ReadonlySet<string>)]).toEqual(
      words("id created_at deleted_at name")
    )
  })
  it.each([
    ["note", null],
    ["name", "withheld 7"],
    ["shelf", -7],
    ["label", "withheld 7"],
    ["title", ""],
    ["kind", "spot"],
    ["on", false],
    ["weight", "0.00"],
    ["count", 3],
    ["tags", []],
    ["seen_at", "1970-01-01T00:00:00.000Z"]
  ])("withhold the column %s behind the placeholder %j", (column, expected) => {
    const racks = table(
      "racks",
      {
        note: text({ nullable: true, default: "x" }),
        name: text(),
        shelf: ref("shelves"),
        label: text(),
        title: text(),
        kind: choice({ spot: "Spot", wash: "Wash" }),
        on: boolean(),
        weight: decimal({ scale: 2 }),
        count: integer({ default: 3 }),
        tags: list(text()),
        seen_at: timestamp()
      },
      {
        uniques: [
          { columns: ["name_folded"], field: "name", message: "Taken." },
          { columns: ["shelf", "label"], field: "shelf", message: "Taken." }
        ]
      }
    )
    expect(redactedValue(racks, column, 7)).toEqual(expected)
  })
})
