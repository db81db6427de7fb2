/**
 * PUT of a product's name as an event store does it: the stream's events folded into a state, a decision, an event
 * appended at the expected version, and the row of an inline projection, all in one connection of Emmett's.
 */
import { createServer } from "node:http"
import { createRequire } from "node:module"
import { join } from "node:path"

const evolve = (state, { data, type }) =>
  type === "ProductNamed" || type === "ProductRenamed" ? { ...state, id: data.id, name: data.name } : state
const rename = (name) => (state) => {
  if (state.id === undefined) throw new Error("there is no such product")
  return { type: "ProductRenamed", data: { id: state.id, name, before: state.name } }
}

process.once("message", async ({ tools, url, ids }) => {
  const [{ CommandHandler }, { getPostgreSQLEventStore, postgreSQLRawSQLProjection }, { sql }] = [
    "emmett",
    "emmett-postgresql",
    "dumbo"
  ].map((name) => createRequire(join(tools, "package.json"))(`@event-driven-io/${name}`))
  const projection = postgreSQLRawSQLProjection({
    name: "products",
    canHandle: ["ProductRenamed"],
    evolve: ({ data: { id, name } }) =>
      sql(
        "update bare_products set name = %L, name_folded = lower(%L), updated_at = now() where id = %s",
        name,
        name,
        String(id)
      )
  })
  const store = getPostgreSQLEventStore(url, { projections: [{ type: "inline", projection }] })
  for (const id of ids)
    await store.appendToStream(`product-${id}`, [{ type: "ProductNamed", data: { id, name: "New" } }])
  const handle = CommandHandler({ evolve, initialState: () => ({}) })
  const server = createServer(async (request, response) => {
    const answer = (status, body) => {
      const text = JSON.stringify(body)
      response.writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(text) })
      response.end(text)
    }
    try {
      const id = request.url.slice(request.url.lastIndexOf("/") + 1)
      let body = ""
      for await (const part of request) body += part
      const { newState } = await handle(store, `product-${id}`, rename(JSON.parse(body).name))
      answer(200, { product: newState })
    } catch (cause) {
      answer(500, { message: String(cause) })
    }
  })
  server.listen(0, "127.0.0.1", () => process.send({ port: server.address().port }))
})
