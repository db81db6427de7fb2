/** The sync endpoints (surface: Sync). They keep state of their own beside the journal, so they are asked, not decided. */
import { Clock, Effect } from "effect"
import type { Slice } from "../../core/kernel/catalogue.ts"
import { type Answer, ask, type Fault, get, type Input } from "../../core/kernel/endpoint.ts"
import { retried } from "../../core/kernel/engine.ts"
import { integer, json, list, object, text, timestamp } from "../../core/kernel/field.ts"
import { drawIds } from "../../core/kernel/ids.ts"
import { isJsonObject, type JsonObject } from "../../core/kernel/json.ts"
import { invalid, invalidField, Rejection } from "../../core/kernel/rejection.ts"
import { baseView, created, listOf, noContent, ok, resource, viewContext } from "../../core/kernel/resource.ts"
import { Site } from "../../core/kernel/site.ts"
import { schema_version } from "../../core/kernel/store/schema.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { instantOf } from "../../core/values/time.ts"
import { commands_per_push_max, needs_max, type Verdict, type WireCommand } from "../wire.ts"
import { lease, leasedTables } from "./leases.ts"
import { decidePushed, ownReplica } from "./push.ts"
import { shapeAnswer } from "./shape.ts"
import { replicas, sync_tables } from "./tables.ts"

const reads = { ability: "sync:read", permission: null, weight: 0 } as const
const writes = { ability: "sync:write", permission: null, weight: 0 } as const

const enrol = ask("/api/v1/sync/replicas", {
  name: "replicas.create", summary: "Enrol a device and lease it ids", ...writes, server_only: true, answers: 201,
  fields: { name: text({ required: true }) },
  run: (input) => Effect.gen(function*() {
    const store = yield* Store
    const { catalogue, public_url } = yield* Site
    return yield* store.transaction(Effect.gen(function*() {
      const [id] = yield* drawIds("replicas", 1)
      const row = {
        id: id!, user_id: input.viewer.user_id, name: input.values.name!, schema_version, last_n: 0, seen_at: input.now, revoked_at: null,
        created_at: input.now, updated_at: input.now, deleted_at: null
      }
      yield* store.apply([{ op: "insert", table: replicas, row }])
      const ranges = yield* Effect.forEach(leasedTables(catalogue), (entity) => lease(id!, entity, 1))
      return created({
        replica: {
          ...baseView(replicas, row, viewContext(input)), user_id: input.viewer.user_id,
          abilities: [...input.viewer.abilities], public_url: public_url?.() ?? null
        },
        lease: ranges.flat().map((range) => ({ ...range }))
      })
    }))
  }).pipe(retried)
})

const leases = ask("/api/v1/sync/leases", {
  name: "replicas.lease", summary: "The next block of ids of an entity", ...writes, server_only: true, answers: 201,
  fields: { replica_id: integer({ required: true, min: 1 }), entity: text({ required: true }), request_no: integer({ required: true, min: 1 }) },
  run: (input) => Effect.gen(function*() {
    const store = yield* Store
    const { catalogue } = yield* Site
    const { replica_id, entity, request_no } = input.values
    return yield* store.transaction(Effect.gen(function*() {
      yield* ownReplica(replica_id!, input.viewer, true)
      if (!leasedTables(catalogue).includes(entity!)) return yield* invalidField("entity", "Ids of this entity are not leased.")
      return created({ lease: (yield* lease(replica_id!, entity!, request_no!)).map((range) => ({ ...range })) })
    }))
  }).pipe(retried)
})

const command_fields = object({
  n: integer({ required: true, min: 1 }), id: text({ required: true, max: 64 }), name: text({ required: true }),
  payload: json<JsonObject>({ required: true }), ids: json<JsonObject>({ default: {} }), issued_at: timestamp({ required: true }),
  needs: list(text({ max: 64 }), { default: [], max_items: needs_max })
})
/** A batch of commands may be as long as what each of them may say. */
const push_bytes_max = 64 * 1_048_576
const push = ask("/api/v1/sync/commands", {
  name: "replicas.push", summary: "Send commands recorded offline; each is decided against the present", ...writes, server_only: true, body_max: push_bytes_max,
  fields: { replica_id: integer({ required: true, min: 1 }), commands: list(command_fields, { required: true, min_items: 1, max_items: commands_per_push_max }) },
  run: (input) => Effect.gen(function*() {
    const verdicts: Array<Verdict> = []
    const errors: { [path: string]: ReadonlyArray<string> } = {}
    const commands = input.values.commands!.map((command, at): WireCommand => {
      const params = command.payload["params"] ?? {}, body = command.payload["body"] ?? {}
      if (!isJsonObject(params) || !Object.values(params).every((value) => typeof value === "string") || !isJsonObject(body)) errors[`commands.${at}.payload`] = ["The payload must hold params (texts) and a body (object)."]
      if (!Object.values(command.ids).every((ids) => Array.isArray(ids) && ids.every(Number.isSafeInteger))) errors[`commands.${at}.ids`] = ["The ids must be lists of integers by table."]
      return { ...command, payload: { params: params as { [name: string]: string }, body: body as JsonObject }, ids: command.ids as { [table: string]: ReadonlyArray<number> } }
    })
    if (Object.keys(errors).length > 0) return yield* invalid(errors)
    yield* ownReplica(input.values.replica_id!, input.viewer, false)
    for (const command of commands) {
      const verdict = yield* Effect.result(decidePushed(input.values.replica_id!, command, input.viewer))
      if (verdict._tag === "Success") { verdicts.push(verdict.success); continue }
      // What was decided before stands and is told; the rest is sent again.
      if (verdicts.length > 0 && verdict.failure instanceof Rejection) break
      return yield* verdict.failure
    }
    return ok({ verdicts })
  })
})

export const syncSlice: Slice = {
  name: "sync",
  server_tables: [...sync_tables, replica_devices],
  projection: {},
  endpoints: [
    enrol, leases, push, ...deviceEndpoints, ...bundleEndpoints,
    get("/api/v1/sync/shape", {
      name: "replicas.follow", summary: "Follow the journal by Electric's shape protocol", ...reads, server_only: true,
      fields: { replica_id: integer({ default: 0, min: 0, describe: "The device that follows: verdicts on its commands are told to it alone" }) },
      run: (input) => Effect.gen(function*() {
        const { catalogue } = yield* Site
        const replica_id = input.values.replica_id ?? 0
        if (replica_id > 0) yield* ownReplica(replica_id, input.viewer, false)
        return yield* shapeAnswer(catalogue, { viewer: input.viewer, replica_id, query: input.query })
      })
    })
  ]
}
