import { assert, test } from "@effect/vitest"
import pg from "pg"
import { freshDatabase } from "./postgres.ts"
import type { FreshDatabase } from "./postgres.ts"

const query = async (url: string, text: string): Promise<ReadonlyArray<unknown>> => {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

test("two test databases are separate, and one is gone when dropped", async () => {
  const [one, other] = await Promise.all([freshDatabase(), freshDatabase()])
  await query(one.url, "create table t (id integer)")
  assert.deepStrictEqual(await query(other.url, "select to_regclass('t') as t"), [{ t: null }])
  await one.drop()
  assert.match(await query(one.url, "select 1").then(String, String), /does not exist/)
  await other.drop()
})

test("a template of test databases is filled once for three concurrent copies, which are independent", async () => {
  let fillings = 0
  const template = {
    name: "one_row",
    prepare: async (url: string) => {
      fillings++
      await query(url, "create table t (id integer)")
      await query(url, "insert into t values (1)")
    }
  }
  const copies: ReadonlyArray<FreshDatabase> = await Promise.all([1, 2, 3].map(() => freshDatabase(template)))
  const [one = assert.fail(), two = assert.fail()] = copies
  await query(one.url, "insert into t values (2)")
  assert.deepStrictEqual(await query(two.url, "select id from t"), [{ id: 1 }])
  assert.strictEqual(fillings, 1)
  await Promise.all(copies.map(({ drop }) => drop()))
})
