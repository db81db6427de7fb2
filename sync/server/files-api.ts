/** Endpoints for the files of devices: which of them are wanted, and sending one. */
import { Effect } from "effect"
import { postQuery } from "../../core/kernel/endpoint.ts"
import { integer, list, text } from "../../core/kernel/field.ts"
import { invalidField } from "../../core/kernel/rejection.ts"
import { created, ok } from "../../core/kernel/resource.ts"
import { receivedFile, wantedFiles } from "../protocol/answers.ts"
import { findCallingDevice } from "./devices.ts"
import { files_asked_max, noteReceived, otherContent, receivedFrom } from "./files.ts"
import { requireOwnReplica } from "./push.ts"

const writes = { ability: "sync:write", permission: null, metering_weight: 0 } as const

const send = postQuery("/api/v1/sync/files", {
  answer: { file: receivedFile },
  error_answers: { 404: null },
  name: "replicas.send_file",
  summary: "Send a file ahead of the command that names it; sending it again changes nothing",
  ...writes,
  server_only: true,
  uploads: true,
  success_status: 201,
  authorize: findCallingDevice,
  fields: { replica_id: integer({ required: true, min: 1 }), sha256: text({ required: true, max: 64 }) },
  run: (input) =>
    Effect.gen(function* () {
      const { replica_id, sha256 } = input.values
      const replica = yield* requireOwnReplica(replica_id ?? 0, input.viewer, false)
      const file = input.files?.["file"]
      if (file === undefined) return yield* invalidField("file", "The file field is required.")
      if (file.sha256 !== sha256) return yield* otherContent
      yield* noteReceived(replica.user_id, file, input.now)
      return created({ file: { sha256, size_bytes: file.size_bytes, mime_type: file.mime_type } })
    })
})

const wanted = postQuery("/api/v1/sync/files/wanted", {
  answer: { wanted: wantedFiles },
  error_answers: { 404: null },
  name: "replicas.wanted_files",
  summary: "Which of these files the device has still to send",
  ...writes,
  server_only: true,
  fields: {
    replica_id: integer({ required: true, min: 1 }),
    sha256: list(text({ max: 64 }), { required: true, max_items: files_asked_max })
  },
  run: (input) =>
    Effect.gen(function* () {
      const { replica_id, sha256 = [] } = input.values
      const replica = yield* requireOwnReplica(replica_id ?? 0, input.viewer, false)
      const here = yield* receivedFrom(replica.user_id, sha256, input.now)
      return ok({ wanted: sha256.filter((one) => !here.has(one)) })
    })
})

export const fileEndpoints = [send, wanted]
