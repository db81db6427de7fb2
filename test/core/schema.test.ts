/** The schema a server makes, as text: a change of it is seen in review, and is never made without being meant. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect } from "effect"
import { expect, it } from "vitest"
import { Store } from "../../core/kernel/store/store.ts"
import { type Engine, engines } from "../app.ts"
import { serve } from "../server/serving.ts"

const update = "UPDATE_SCHEMA=1 npx vitest run test/core/schema.test.ts"
const fileOf = (engine: Engine): string => fileURLToPath(new URL(`../fixtures/schema/${engine}.sql`, import.meta.url))

const inSqlite = `select sql from sqlite_master where sql is not null and name not like 'sqlite_%' order by tbl_name, type <> 'table', name`
/** Statements that would make it again: tables, what they hold true, indexes, sequences. */
const inPostgres = `
  select statement as sql from (
    select 1 as part, extname::text as name, '' as detail, format('create extension %I', extname) as statement from pg_extension where extname <> 'plpgsql'
    union all
    select 2, c.relname::text, '', format('create table %I (%s)', c.relname, string_agg(
      format(E'\\n  %I %s%s%s', a.attname, format_type(a.atttypid, a.atttypmod), coalesce(' collate ' || quote_ident(l.collname), ''),
        case when a.attnotnull then ' not null' else '' end), ',' order by a.attnum) || E'\\n')
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      left join pg_collation l on l.oid = a.attcollation and l.collname <> 'default'
    where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' group by c.relname
    union all
    select 2, conrelid::regclass::text, 'constraint ' || conname, format('alter table %s add constraint %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid))
    from pg_constraint where connamespace = 'public'::regnamespace and contype <> 'n'
    union all
    select 2, tablename::text, 'index ' || indexname, indexdef from pg_indexes i where schemaname = 'public'
      and not exists (select 1 from pg_constraint where connamespace = 'public'::regnamespace and conname = i.indexname)
    union all
    select 3, sequencename::text, '', format('create sequence %I as %s', sequencename, data_type) from pg_sequences where schemaname = 'public'
  ) statements order by part, name collate "C", detail collate "C"`

it.each(engines)("the schema on %s is the one on file", async (engine) => {
  const server = await serve(engine)
  const statements = await server.run(
    Effect.flatMap(Store, (store) => store.run<{ sql: string }>(engine === "pg" ? inPostgres : inSqlite))
  )
  await server.close()
  const schema = statements.map(({ sql }) => `${sql};\n`).join("\n")
  if (process.env["UPDATE_SCHEMA"] === "1") {
    mkdirSync(dirname(fileOf(engine)), { recursive: true })
    writeFileSync(fileOf(engine), schema)
  }
  expect(statements.length).toBeGreaterThan(50)
  expect(schema, `The schema has changed. If it was meant to, run: ${update}`).toBe(
    readFileSync(fileOf(engine), "utf8")
  )
})
