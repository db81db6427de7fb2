/**
 * GET of one product as the usual libraries serve it: Fastify, pg and pino. The bearer is hashed and looked up, in memory
 * after the first time; each request has a JSON log line and adds to the count of its hour, token, route and status.
 */
import { hash } from "node:crypto"
import { createRequire } from "node:module"
import { join } from "node:path"

/** As the product writes its lines: together, within 50 ms or 16 kB. */
const logged = { dest: 2, sync: false, minLength: 16_000, periodicFlush: 50 }
const counted_every_millis = 1_000

const add_counts =
  "insert into bare_usage (hour, token_id, route, status, requests) select * from " +
  "json_to_recordset($1::json) as given (hour bigint, token_id bigint, route text, status bigint, requests bigint) " +
  "on conflict (hour, token_id, route, status) do update set requests = bare_usage.requests + excluded.requests"

const countsIn = (pool) => {
  let counts = new Map()
  setInterval(() => {
    if (counts.size === 0) return
    const rows = [...counts.values()]
    counts = new Map()
    pool.query({ name: "counts", text: add_counts, values: [JSON.stringify(rows)] }).catch((cause) => {
      throw cause
    })
  }, counted_every_millis)
  return (token_id, route, status) => {
    const hour = Math.floor(Date.now() / 3_600_000)
    const key = `${hour} ${token_id} ${route} ${status}`
    const kept = counts.get(key)
    if (kept === undefined) counts.set(key, { hour, token_id, route, status, requests: 1 })
    else kept.requests++
  }
}

/** What is read, for as long as the product keeps the same. */
const kept_millis = 900
const keptOf = (read) => {
  const known = new Map()
  return async (key) => {
    const now = Date.now()
    const before = known.get(key)
    if (before !== undefined && now < before.until) return before.found
    const found = await read(key)
    known.set(key, { found, until: now + kept_millis })
    return found
  }
}

const bearersIn = (pool) => {
  const text = "select id, user_id from tokens where hash = $1 and revoked_at is null"
  const bearerOf = keptOf(async (hash) => (await pool.query({ name: "bearer", text, values: [hash] })).rows[0])
  return (authorization = "") =>
    authorization.startsWith("Bearer ") ? bearerOf(hash("sha256", authorization.slice(7), "hex")) : undefined
}

/** The row as the product answers it: money in units, custom fields by name. */
const productsIn = (pool, select) => {
  const namesOf = keptOf(async () => (await pool.query("select id, name from custom_fields")).rows)
  const moneyOf = (minor) => (minor === null ? null : (minor / 100).toFixed(2))
  return async (id) => {
    const names = await namesOf("Product")
    const [row] = (await pool.query({ name: "read", text: select, values: [id] })).rows
    if (row === undefined) return undefined
    for (const column of ["replacement_charge", "sub_rental_price", "purchase_price"])
      row[column] = moneyOf(row[column])
    const custom_fields = {}
    for (const { id: field, name } of names) custom_fields[name] = row.custom_fields[field] ?? null
    row.custom_fields = custom_fields
    return row
  }
}

process.once("message", async ({ tools, url, select }) => {
  const require = createRequire(join(tools, "package.json"))
  const [fastify, pg, pino] = ["fastify", "pg", "pino"].map(require)
  const getTypeParser = (oid, format) => (oid === 20 ? Number : pg.types.getTypeParser(oid, format))
  const pool = new pg.Pool({ connectionString: url, max: 10, types: { getTypeParser } })
  await pool.query(
    "create table bare_usage (hour bigint, token_id bigint, route text, status bigint, requests bigint not null, " +
      "primary key (hour, token_id, route, status))"
  )
  const bearerOf = bearersIn(pool)
  const productOf = productsIn(pool, select)
  const count = countsIn(pool)
  const app = fastify({ loggerInstance: pino(pino.destination(logged)), disableRequestLogging: true })
  app.decorateRequest("bearer", null)
  app.addHook("onRequest", async (request, reply) => {
    request.bearer = await bearerOf(request.headers.authorization)
    if (request.bearer === undefined) return reply.code(401).send({ message: "unauthenticated" })
  })
  app.addHook("onResponse", (request, reply, done) => {
    const { bearer, method, url: path } = request
    const [route, status] = [request.routeOptions.url, reply.statusCode]
    const user = bearer?.user_id
    request.log.info({ method, path, route, status, ms: reply.elapsedTime, user, token: bearer?.id }, "request")
    count(bearer?.id ?? null, route, status)
    done()
  })
  app.get("/products/:id", async (request, reply) => {
    const product = await productOf(Number(request.params.id))
    return product === undefined ? reply.code(404).send({ message: "not found" }) : { product }
  })
  await app.listen({ port: 0, host: "127.0.0.1" })
  process.send({ port: app.server.address().port })
})
