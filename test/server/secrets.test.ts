/** Secrets are declared as such in every slice, and declared secrets appear nowhere. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { catalogueOf } from "../../core/kernel/endpoints/endpoint.ts"
import { text } from "../../core/kernel/fields/field.ts"
import { plainTable, type Table } from "../../core/kernel/tables/table.ts"
import { serve, type Serving } from "./serving.ts"

const like_a_secret = /secret|sealed|password|(^|_)hash$/
/** Times of secrets, which are not secret themselves. */
const is_told = /_(until|at)$/

describe("the tables of a server", () => {
  let server: Serving
  beforeAll(async () => {
    server = await serve()
  })
  afterAll(() => server.close())
  const columnsOf = (tables: ReadonlyArray<Table>) =>
    tables.flatMap(({ columns, name }) =>
      Object.entries(columns).map(([column, field]) => ({ name: `${name}.${column}`, column, field }))
    )

  it("declare every column that is named like a secret as secret", () => {
    const { server_tables } = server.app.catalogue
    const undeclared = columnsOf(server_tables).filter(
      ({ column, field }) => like_a_secret.test(column) && !is_told.test(column) && !field.secret
    )
    expect(undeclared.map(({ name }) => name)).toEqual([])
    const declared = columnsOf(server_tables).filter(({ field }) => field.secret)
    expect(declared.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["tokens.hash", "inbound_sources.sealed_secret", "secret_settings.sealed"])
    )
    expect(declared.filter(({ field }) => !field.hidden)).toEqual([])
  })
  it("offer no secret for filters, sorts and columns of views", () => {
    for (const { columns, filters, plural, sorts, table } of server.app.catalogue.resources) {
      const secret = Object.entries(table.columns).flatMap(([column, field]) => (field.secret ? [column] : []))
      const shown = [...filters, ...sorts, ...Object.keys(columns)]
      expect(
        secret.filter((column) => shown.includes(column)),
        plural
      ).toEqual([])
    }
  })
  it("are not projected from the journal if they have a secret column", () => {
    const safe = plainTable("safes", "key", { key: text(), combination: text({ secret: true }) })
    expect(() => catalogueOf([{ name: "safes", tables: [safe] }])).toThrow("safes holds a secret and is folded")
    expect(catalogueOf([{ name: "safes", server_tables: [safe] }]).server_tables).toEqual([safe])
  })
})
