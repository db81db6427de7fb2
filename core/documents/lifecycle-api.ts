/** Endpoints of documents: asked for, read, made final, voided (interface 4.9). */
import { Effect, Result, Schema } from "effect"
import * as Shown from "../kernel/answer-schema.ts"
import { CommandRuntime } from "../kernel/command-runtime.ts"
import { type Answer, command, type Endpoint, get, type Id, type Input } from "../kernel/endpoint.ts"
import { boolean, choice, integer, list, longText, ref, text } from "../kernel/field.ts"
import { wholeNumber } from "../kernel/field-schema.ts"
import { created, listOf, ok, renderById, renderOne, type Status, viewContext } from "../kernel/resource.ts"
import { type Asked, type Batched, finaliseDocument, requestBatch, requestDocument, voidDocument } from "./decide.ts"
import { finaliseFacts, linkIds, sourceFacts } from "./facts.ts"
import { batchJobId, queuedJobId } from "./jobs.ts"
import { drawing_weight, one, path, read, write } from "./paths.ts"
import { documentResource } from "./resources.ts"
import { documents } from "./schema.ts"
import { documentable_tables, documentable_types, type DocumentType, document_types } from "./types.ts"

export const documentShown = { document: Shown.row(() => documentResource) }
const answerOf = (status: Status) => (result: Id, input: Input) =>
  Effect.map(renderById(documentResource, result.id, input.query, viewContext(input)), status)

const labels = Object.fromEntries(Object.entries(document_types).map(([key, { name }]) => [key, name])) as {
  readonly [T in DocumentType]: string
}
const about = {
  document_type: choice(labels, { required: true, any_case: true }),
  documentable_type: choice(documentable_types, {
    required: true,
    any_case: true,
    describe: "What it is made of; opportunity and purchase_order are understood as well"
  })
}
const store_id = () =>
  ref("stores", { nullable: true, describe: "Whose branding and texts; without it the store of what it is made of" })
const id_max = Number.MAX_SAFE_INTEGER
const named = { by: "documentable_type", tables: documentable_tables } as const

/** Checked fields are there: both are required. */
const askedOf = (values: Partial<Asked>): Asked => ({
  document_type: values.document_type ?? "quotation",
  documentable_type: values.documentable_type ?? "Opportunity",
  store_id: values.store_id ?? null
})

const listed = get(path, {
  answer: Shown.page(() => documentResource),
  name: "documents.list",
  summary: "List documents",
  ...read,
  run: (input: Input) => Effect.map(listOf(documentResource, input.query, viewContext(input)), ok)
})
const show = get(`${path}/{id}`, {
  answer: documentShown,
  name: "documents.show",
  summary: "Show one document, with an address to read its PDF for an hour",
  ...read,
  params: one,
  run: (input) => Effect.map(renderOne(documentResource, input.rows.id, input.query, viewContext(input)), ok)
})

const queued_shown = {
  message: text(),
  job_id: text({ describe: "What GET /api/v1/system/jobs/{id} knows the job by" })
}
/** The answer to a call whose document is drawn by a job. */
export const queuedAnswer = (job_id: string, message: string): Answer<{ message: string; job_id: string }> => ({
  status: 202,
  body: { message, job_id }
})

export const generate = command("POST", `${path}/generate`, {
  answer: documentShown,
  error_answers: { 202: queued_shown, 503: null },
  success_status: 201,
  metering_weight: drawing_weight,
  name: "documents.generate",
  summary: "Make a document: drawn at once, or by a job with async",
  ability: write,
  permission: "documents.create",
  fields: {
    ...about,
    documentable_id: integer({ required: true, min: 1, max: id_max, names: named }),
    store_id: store_id(),
    async: boolean({ default: false, describe: "Answer 202 with the id of the job that draws it" })
  },
  creates: [documents],
  result: Schema.suspend(() => Schema.Struct({ id: wholeNumber, is_queued: Schema.Boolean })),
  facts: ({ values, viewer }) => sourceFacts(askedOf(values).documentable_type, [values.documentable_id ?? 0], viewer),
  decide: (facts, { values }, context) => {
    const is_queued = values.async === true
    const decided = requestDocument(
      facts,
      { ...askedOf(values), documentable_id: values.documentable_id ?? 0, drawn_by: is_queued ? "job" : "request" },
      context
    )
    return Result.map(decided, ({ events, result }) => ({ events, result: { ...result, is_queued } }))
  },
  respond: ({ id, is_queued }, input) =>
    Effect.gen(function* () {
      const { role } = yield* Effect.serviceOption(CommandRuntime).pipe(Effect.flatMap(Effect.fromOption), Effect.orDie)
      if (is_queued && role === "server") return queuedAnswer(queuedJobId(id), "The document is being made.")
      return created(yield* renderById(documentResource, id, input.query, viewContext(input)))
    })
})

const batch = command("POST", `${path}/batch_generate`, {
  answer: { ...queued_shown, count: integer({ describe: "How many documents were asked for" }) },
  success_status: 202,
  metering_weight: drawing_weight,
  name: "documents.batch",
  summary: "Make a document of each of up to 100 sources, by one job",
  ability: write,
  permission: "documents.create",
  server_only: true,
  fields: {
    ...about,
    documentable_ids: list(integer({ min: 1, max: id_max, names: named }), {
      required: true,
      min_items: 1,
      max_items: 100
    }),
    store_id: store_id()
  },
  result: Schema.suspend((): Schema.Codec<Batched> => Schema.Struct({ id: wholeNumber, count: wholeNumber })),
  facts: ({ values, viewer }) => sourceFacts(askedOf(values).documentable_type, values.documentable_ids ?? [], viewer),
  decide: (facts, { values }, context) =>
    requestBatch(facts, { ...askedOf(values), documentable_ids: values.documentable_ids ?? [] }, context),
  respond: ({ count, id }) =>
    Effect.succeed({ status: 202, body: { message: "The documents are being made.", job_id: batchJobId(id), count } })
})

const finalise = command("POST", `${path}/{id}/finalise`, {
  answer: documentShown,
  name: "documents.finalise",
  summary: "Make a generated document final: it stays as it is, whatever becomes of its source",
  ability: write,
  permission: "documents.create",
  params: one,
  facts: ({ rows }) => finaliseFacts(rows.id),
  decide: (facts, { rows }, context) => finaliseDocument(rows.id, facts, context),
  respond: answerOf(ok)
})
const voided = command("POST", `${path}/{id}/void`, {
  answer: documentShown,
  name: "documents.void",
  summary: "Void a document: its public page and its file are no longer to be had",
  ability: write,
  permission: "documents.create",
  params: one,
  fields: { reason: longText({ nullable: true, max: 1_000 }) },
  facts: ({ rows }) => linkIds(rows.id.id),
  decide: (link_ids, { rows, values }, context) => voidDocument(rows.id, link_ids, values.reason ?? null, context),
  respond: answerOf(ok)
})

export const documentEndpoints: ReadonlyArray<Endpoint> = [listed, show, generate, batch, finalise, voided]
