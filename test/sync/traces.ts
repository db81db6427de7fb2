/** Finds a text wherever it is stored: bytes of database files, tables of Postgres, the owner's export. */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { catalogue } from "../../core/catalogue.ts"
import type { Field } from "../../core/kernel/fields/field.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { quote } from "../../core/kernel/store/statement.ts"
import type { Table } from "../../core/kernel/tables/table.ts"
import { contactTables, members } from "../../core/people/members/schema.ts"
import { users } from "../../core/people/users/permissions.ts"
import type { TestServer } from "./opening.ts"

/** Contained in every text of the person; search stores it in lower case. */
export const mark = "Zacharias"
/** A number of theirs, as JSON holds it. */
export const number_mark = "7654321"
export const isMarked = (text: string): boolean =>
  text.toLowerCase().includes(mark.toLowerCase()) || text.includes(number_mark)

/** Files of devices and of a server on SQLite that contain the mark, free pages and write-ahead logs included. */
export const markedFiles = ({ database, folder }: TestServer): ReadonlyArray<string> =>
  [
    ...(database.kind === "sqlite" ? ["", "-wal"].map((end) => database.path + end) : []),
    ...readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
  ]
    .filter((file) => existsSync(file) && isMarked(readFileSync(file, "latin1")))
    .map((file) => (file.startsWith(folder) ? file.slice(folder.length + 1) : file))

/** Names of all tables that contain the mark, declared or not, on either engine. */
export const markedTables = (server: TestServer): Promise<ReadonlyArray<string>> =>
  server.run(
    Effect.gen(function* () {
      const store = yield* Store
      const named = yield* store.run<{ name: string }>(
        store.dialect === "pg"
          ? "select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'"
          : "select name from sqlite_master where type = 'table'"
      )
      const found: Array<string> = []
      for (const { name } of named) {
        const rows = yield* store.run(`select * from ${quote(name)}`)
        if (isMarked(JSON.stringify(rows))) found.push(name)
      }
      return found
    })
  )

/** Contents of an owner's export. */
export const exported = async (server: TestServer): Promise<string> => {
  const parts: Array<unknown> = [(await server.get("/system/manifest")).body]
  for (let after = 0; ;) {
    const { body } = await server.get(`/system/journal?after=${after}`)
    parts.push(body)
    if (body.events.length === 0) return JSON.stringify(parts)
    after = body.meta.position
  }
}

/** Data kept of an anonymised person by the API's documentation: terms of business, not identity. */
const stays: ReadonlySet<string> = new Set([
  "members.locale",
  "members.default_currency_code",
  "phones.country_code",
  "relationships.relationship_type",
  "users.role_ids"
])
/** A value with the mark; undefined for a field that cannot hold it, or whose value is kept. */
const markedValue = (table: Table, name: string, field: Field): unknown => {
  if (stays.has(`${table.name}.${name}`) || field.computed) return undefined
  const { type } = field
  switch (type.kind) {
    case "text":
      return type.format === "email"
        ? `${mark}@${name}.example`
        : type.format === "url"
          ? `https://${mark.toLowerCase()}.example/${name}`
          : `${mark} ${name}`.slice(0, type.max)
    case "list":
      return type.of.type.kind === "text" ? [`${mark} ${name}`] : undefined
    case "decimal":
      return `51.${number_mark}`
    default:
      return undefined
  }
}
/** A body with the mark in every writable field. */
export const markedBody = (table: Table): { readonly [field: string]: unknown } =>
  Object.fromEntries(
    Object.entries(table.columns).flatMap(([name, field]) => {
      const value = markedValue(table, name, field)
      return value === undefined ? [] : [[name, value]]
    })
  )

/** Tables with a person's data: their own, and all that is stored in a member's or user's stream. */
export const personal_tables: ReadonlyArray<Table> = catalogue.tables.filter(
  (table) =>
    table === members ||
    table === users ||
    table.stream?.entity === members.entity ||
    table.stream?.entity === users.entity
)
/** Tables with rows per member that hold personal texts, with the path that creates them. */
export const recordsOfMember = (): ReadonlyArray<{ readonly table: Table; readonly path: string }> =>
  personal_tables
    .filter((table) => table.stream?.entity === members.entity && !stays.has(`${table.name}.relationship_type`))
    .filter((table) => Object.keys(markedBody(table)).length > 0)
    .map((table) => {
      const endpoint = catalogue.endpoints.find(
        (one) =>
          one.method === "POST" &&
          one.name.endsWith("create") &&
          one.path.startsWith("/api/v1/members/{") &&
          one.path.endsWith(`/${table.name}`)
      )
      if (endpoint === undefined)
        throw new Error(`No endpoint makes a row in ${table.name}: say here how one is made for the person.`)
      return { table, path: `/${table.name}` }
    })
export const contact_table_names = Object.keys(contactTables)
