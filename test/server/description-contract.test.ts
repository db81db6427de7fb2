/** The OpenAPI description as a whole; test/api/description.ts checks all responses in tests against it. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Endpoint } from "../../core/kernel/endpoints/endpoint.ts"
import { statusOfAnswer } from "../../server/operations/system/responses.ts"
import { readFields } from "../../core/kernel/fields/input.ts"
import { type Fields, isJsonObject, type Json, type JsonObject } from "../../core/kernel/fields/field.ts"
import { Effect } from "effect"
import { rowSchema, titleOf } from "../../core/kernel/lists/answer-schema.ts"
import type { ServerApp } from "../../server/host/app.ts"
import { dialect } from "../tidy/dialect.ts"
import { answerProblem, decodingProblem, problemOf } from "../api/description.ts"
import { askOf, type Described, described, serve, type Serving } from "./serving.ts"

const takesNull = (schema: JsonObject): boolean =>
  schema["anyOf"] === undefined
    ? [schema["type"]].flat().some((type) => type === undefined || type === "null")
    : (schema["anyOf"] as ReadonlyArray<JsonObject>).some(takesNull)

describe("the OpenAPI description", () => {
  let server: Serving
  let api: JsonObject
  let schemas: Described
  let endpoints: ReadonlyArray<Endpoint>
  beforeAll(async () => {
    server = await serve("sqlite", { public_url: "https://hire.example.com" })
    api = (await server.ask("/api/v1/openapi.json")).body
    schemas = at("components", "schemas")
    endpoints = server.app.catalogue.endpoints.filter(({ path }) => /^\/(api|files)\/|\.ics$/.test(path))
  })
  afterAll(() => server.close())
  const operations = () =>
    endpoints.map((endpoint) => ({
      endpoint,
      operation: at("paths", endpoint.path, endpoint.method.toLowerCase()) as Described
    }))
  const at = (...path: ReadonlyArray<string>): any => path.reduce((value: any, key) => value?.[key], api)

  it("describes the JSON response of every operation", () => {
    const silent = endpoints.filter(
      (endpoint) => endpoint.answer === undefined && endpoint.produces === undefined && statusOfAnswer(endpoint) !== 204
    )
    expect(silent.map((endpoint) => endpoint.name)).toEqual([])
  })
  it("names the public URL and the licence, and describes every tag, operation and parameter", () => {
    expect(at("servers")).toEqual([{ url: "https://hire.example.com", description: "This server" }])
    expect(at("info", "license", "name")).toBeTypeOf("string")
    const mute = [
      ...at("tags"),
      ...operations().map(({ operation }) => operation),
      ...operations()
        .flatMap(({ operation }) => operation["parameters"])
        .filter((one) => isJsonObject(one) && !("$ref" in one)),
      ...Object.values(at("components", "parameters"))
    ].filter((one) => typeof one.description !== "string" || one.description === "")
    expect(mute).toEqual([])
    expect(JSON.stringify(api)).not.toMatch(/\b(Create|Change|Delete) a [aeio]/)
  })
  it("requires every resource's id, and all keys of a product but hidden and computed ones", () => {
    for (const endpoint of endpoints.filter((one) => one.name.endsWith(".show"))) {
      const refs = [
        ...JSON.stringify(at("paths", endpoint.path, "get", "responses", "200")).matchAll(/schemas\/(\w+)/g)
      ].map((found) => found[1]!)
      const without_id = (one: string) => ["Meta", "Ignored", "Json"].includes(one) || one.startsWith("SettingsOf")
      for (const name of refs.filter((one) => !without_id(one))) expect(schemas[name].required, name).toContain("id")
    }
    const product = schemas["Product"]
    expect(Object.keys(product.properties!).filter((name) => !product.required!.includes(name))).toEqual([
      "sub_rental_price",
      "purchase_price",
      // Computed on request.
      "free"
    ])
  })
  it.each([
    ["IssuedToken", "secret"],
    ["Opportunity", "availability_phase"],
    ["Opportunity", "pricing_locked"],
    ["Opportunity", "status_label"],
    ["Member", "membership"],
    ["Member", "primary_address"],
    ["Meta", "total"]
  ])("has a schema %s that requires %s", (schema, key) => {
    expect(schemas[schema].required).toContain(key)
  })
  it("describes each secret setting by its own text", () => {
    const { dkim_private_key, smtp_url } = schemas["SettingsOfMail"].properties!
    expect(dkim_private_key.description).toMatch(/^DKIM private key.*; masked/)
    expect(smtp_url.description).toMatch(/^Mail server.*; masked/)
  })
  const goodAnswers = () =>
    operations().flatMap(({ endpoint, operation }) => {
      const good = operation["responses"][String(statusOfAnswer(endpoint))]
      const answer = good?.content?.["application/json"]
      return answer === undefined ? [] : [[endpoint.name, { ...answer, description: good.description }] as const]
    })
  it("uses the resource's own schema for lists and created rows, with no variants for views", () => {
    const shown = new Map(goodAnswers())
    for (const name of ["products.list", "opportunities.list"]) {
      const { properties } = shown.get(name).schema
      expect(Object.keys(properties), name).toEqual([name.split(".")[0], "meta"])
    }
    for (const name of ["opportunities.create", "invoices.create", "invoices.issue"])
      expect(shown.get(name).schema.required, name).toContain(name.startsWith("o") ? "opportunity" : "invoice")
    expect(Object.keys(schemas).filter((name) => /InView$|OfView$|AnswerRemoved/.test(name))).toEqual([])
    const view_id = at("paths", "/api/v1/products", "get", "parameters").find(
      (one: Described) => one["name"] === "view_id"
    )
    expect(view_id.description).toContain("rows contain only the id and the view's columns")
  })
  it("has no example of a response that only repeats its key", () => {
    expect(goodAnswers().filter(([, { description }]) => description === "As asked")).toEqual([])
    const same = new Map<string, number>()
    const walk = (value: Json, key: string): void => {
      if (Array.isArray(value)) return value.forEach((one: Json) => walk(one, key))
      if (isJsonObject(value)) return Object.entries(value).forEach(([name, one]) => walk(one, name))
      if (String(value).toLowerCase() === key.replaceAll("_", " ")) same.set(key, (same.get(key) ?? 0) + 1)
    }
    for (const [, { example }] of goodAnswers()) walk(example, "")
    expect([...same]).toEqual([])
    expect(JSON.stringify(api)).not.toContain("rental: Rental")
  })
  it("describes no parameter or field by its own name only", () => {
    const same: Array<string> = []
    const wordsIn = (text: Json | undefined) =>
      String(text)
        .toLowerCase()
        .replaceAll(/[^a-z0-9]+/g, " ")
        .trim()
    const walk = (value: Json, key: string): void => {
      if (Array.isArray(value)) return value.forEach((one: Json) => walk(one, key))
      if (!isJsonObject(value)) return
      const name = wordsIn(typeof value["in"] === "string" ? value["name"] : key)
      if ([name, `the ${name}`].includes(wordsIn(value["description"]))) same.push(name)
      for (const [inner, one] of Object.entries(value)) if (!/^examples?$/.test(inner)) walk(one, inner)
    }
    walk({ paths: at("paths"), parameters: at("components", "parameters"), schemas } as Json, "")
    expect(same).toEqual([])
  })
  it("uses no banned phrase in summaries and descriptions", () => {
    const faults: Array<string> = []
    const walk = (value: Json, path: string): void => {
      if (Array.isArray(value)) return value.forEach((one: Json) => walk(one, path))
      if (!isJsonObject(value)) return
      for (const name of ["summary", "description"]) {
        const text = value[name]
        if (typeof text !== "string" || path === "/info") continue
        if (dialect.test(text)) faults.push(`${path}: ${text}`)
      }
      for (const [name, one] of Object.entries(value)) if (!/^examples?$/.test(name)) walk(one, `${path}/${name}`)
    }
    walk(api, "")
    expect(faults).toEqual([])
  })
  it("marks only seven named fields as always null", () => {
    const empty: Array<string> = []
    const walk = (value: Json, key: string): void => {
      if (Array.isArray(value)) return value.forEach((one: Json) => walk(one, ""))
      if (!isJsonObject(value)) return
      if (value["type"] === "null" && key !== "") empty.push(key)
      for (const [name, one] of Object.entries(value)) if (!/^examples?$/.test(name)) walk(one, name)
    }
    walk(api, "")
    const named = ["ip_address", "rate_definition", "identity", "icon", "help", "placeholder", "step"]
    expect(new Set(empty)).toEqual(new Set(named))
  })
  it("describes the meta of opportunities and product rates", () => {
    const metaOf = (path: string, method: string, status: string) =>
      at("paths", path, method, "responses", status, "content", "application/json", "schema")
    expect(JSON.stringify(metaOf("/api/v1/opportunities/{id}", "get", "200"))).toContain("can_edit")
    expect(JSON.stringify(metaOf("/api/v1/products/{product}/rates", "post", "201"))).toContain("overlapping_rate_ids")
  })
  it("describes Idempotency-Key and its effects where keys are honoured", () => {
    const create = at("paths", "/api/v1/opportunities", "post")
    const keyed = { $ref: "#/components/parameters/Idempotency-Key" }
    expect(create.parameters).toContainEqual(keyed)
    expect(at("components", "parameters", "Idempotency-Key", "name")).toBe("Idempotency-Key")
    expect(Object.keys(create.responses)).toEqual(
      expect.arrayContaining(["201", "401", "403", "409", "413", "415", "422", "425", "429", "500", "503"])
    )
    expect(Object.keys(create.responses["201"].headers)).toEqual(
      expect.arrayContaining(["Idempotent-Replayed", "X-RateLimit-Limit", "X-RateLimit-Remaining"])
    )
    expect(Object.keys(at("components", "responses", "429", "headers"))).toEqual(
      expect.arrayContaining(["Retry-After", "X-RateLimit-Reset"])
    )
    expect(at("paths", "/api/v1/tokens", "get", "parameters")).not.toContainEqual(keyed)
  })
  /** The only content type of a body: JSON, or a form if it holds a file. */
  const bodyOf = (operation: Described) => Object.values<Described>(operation["requestBody"]?.content ?? {})[0] ?? {}
  it("declares uploads as multipart forms only, and downloads at /files/{uuid} as public", () => {
    const uploads = operations().filter(({ endpoint }) => endpoint.uploads)
    expect(uploads.map(({ endpoint }) => endpoint.name)).toContain("attachments.create")
    for (const { endpoint, operation } of uploads)
      expect(Object.keys(operation["requestBody"].content), endpoint.name).toEqual(["multipart/form-data"])
    expect(at("paths", "/files/{uuid}", "get", "security")).toEqual([])
  })
  it("declares a body's field as nullable exactly if the server accepts null", () => {
    for (const { endpoint, operation } of operations()) {
      const schema = bodyOf(operation)["schema"] as JsonObject | undefined
      for (const [name, property] of Object.entries(
        (schema?.["properties"] ?? {}) as { readonly [name: string]: JsonObject }
      )) {
        // The file in a form is not a field.
        if (endpoint.uploads && name === "file") continue
        const read = readFields(
          endpoint.fields as Fields,
          { [name]: null },
          { mode: endpoint.mode, base_currency: "GBP" }
        )
        expect(takesNull(property), `${endpoint.name} ${name}`).toBe(read.errors[name] === undefined)
      }
    }
  })
  it("has an accepted example of every body, and a valid one of every response", () => {
    const bodies = operations().filter(({ operation }) => operation["requestBody"] !== undefined)
    for (const { endpoint, operation } of bodies) {
      const example = bodyOf(operation)["example"]
      expect(example, endpoint.name).toBeTypeOf("object")
      expect(
        readFields(endpoint.fields as Fields, example, { mode: endpoint.mode, base_currency: "GBP" }).errors,
        endpoint.name
      ).toEqual({})
    }
    expect(bodies.length).toBeGreaterThan(120)
    const answers = operations().flatMap(({ endpoint, operation }) =>
      Object.entries<Described>(operation["responses"]).flatMap(([status, response]) => {
        const { content } =
          response["$ref"] === undefined ? response : at("components", "responses", response["$ref"].split("/").at(-1))
        return content?.["application/json"] === undefined
          ? []
          : [{ endpoint, status: Number(status), body: content["application/json"].example }]
      })
    )
    expect(answers.length).toBeGreaterThan(1_500)
    const wrong = answers.flatMap(
      ({ body, endpoint, status }) =>
        problemOf(
          endpoint,
          { status, headers: { "content-type": "application/json" }, text: "…", body },
          { headers: false }
        ) ?? []
    )
    expect(wrong).toEqual([])
  })
  it("has a valid example in the schema of every resource", () => {
    const rows = server.app.catalogue.resources.filter((resource) => schemas[titleOf(resource)] !== undefined)
    expect(rows.length).toBeGreaterThan(30)
    expect(
      rows.flatMap((resource) => decodingProblem(rowSchema(resource), schemas[titleOf(resource)].examples[0]) ?? [])
    ).toEqual([])
  })
  it("declares the properties of every object, or that it may have any", () => {
    const objects: Array<string> = []
    const bare: Array<string> = []
    const walk = (value: Json, path: string): void => {
      if (Array.isArray(value)) return value.forEach((one: Json, index) => walk(one, `${path}/${index}`))
      if (!isJsonObject(value)) return
      if ([value["type"]].flat().includes("object")) {
        objects.push(path)
        if (value["properties"] === undefined && value["additionalProperties"] === undefined) bare.push(path)
      }
      for (const [name, one] of Object.entries(value))
        if (name !== "example" && name !== "examples") walk(one, `${path}/${name}`)
    }
    walk(api, "")
    expect(objects.length).toBeGreaterThan(500)
    expect(bare).toEqual([])
  })
  it("gives each operation a unique id, and declares its security, error responses and tags", () => {
    const all = operations().map(({ operation }) => operation)
    expect(new Set(all.map((one) => one["operationId"])).size).toBe(all.length)
    for (const { endpoint, operation } of operations()) {
      expect(operation["security"], endpoint.name).toEqual(
        endpoint.public ? [] : expect.arrayContaining([{ bearer: expect.any(Array) }])
      )
      expect(Object.keys(operation["responses"] as JsonObject), endpoint.name).toEqual(
        expect.arrayContaining(["429", "500", "503", ...(endpoint.public ? [] : ["401", "403"])])
      )
    }
    const told = new Set(at("tags").map((tag: Record<"name", unknown>) => tag.name))
    expect(all.flatMap((one) => one["tags"] as ReadonlyArray<string>).filter((tag) => !told.has(tag))).toEqual([])
  })
  it("is violated by undeclared keys, statuses and headers, missing keys and wrong types in a response", async () => {
    const good = await server.ask("/api/v1/stores/1")
    const told = (body: object) => answerProblem(server.app.catalogue, "GET", "/api/v1/stores/1", { ...good, body })
    const { store } = good.body
    expect(told({ store })).toBeUndefined()
    expect(told({ store: { ...store, surprise: 1 } })).toMatch(/no excess property\s+at \["store"\]\["surprise"\]/)
    expect(told({ store: { ...store, name: undefined } })).toContain('["store"]["name"]')
    const { name: _name, ...nameless } = store
    expect(told({ store: nameless })).toContain('["store"]["name"]')
    expect(told({ store: { ...store, id: "1" } })).toContain('["store"]["id"]')
    expect(told({ store: { ...store, created_at: "yesterday" } })).toContain("date-time")
    expect(answerProblem(server.app.catalogue, "GET", "/api/v1/stores/1", { ...good, status: 418 })).toContain(
      "418 is not described"
    )
    expect(
      answerProblem(server.app.catalogue, "GET", "/api/v1/stores/1", {
        ...good,
        headers: { ...good.headers, "x-other": "1" }
      })
    ).toContain("x-other is not described")
  })
  it("fails a test if the server's response does not match it", async () => {
    const wrong = { status: 200, headers: { "content-type": "application/json" }, body: `{"store":{}}` }
    const lying: Pick<ServerApp, "answer" | "ask" | "catalogue"> = {
      catalogue: server.app.catalogue,
      answer: () => Effect.succeed(wrong),
      ask: async () => wrong
    }
    await expect(
      askOf(
        described(lying, (problem) => {
          throw new Error(problem)
        }),
        "/api/v1/stores/1",
        {}
      )
    ).rejects.toThrow("stores.show answered 200: Missing key")
  })
})
