/** What the server would not take as a request's body is not recorded either: it could never be sent. */
import { body_depth_max, isLongerThan, json_body_max } from "../../core/kernel/body.ts"
import type { Request } from "../../core/kernel/endpoint.ts"
import { unstorableIn } from "../../core/kernel/input.ts"
import { invalidField, Rejection } from "../../core/kernel/rejection.ts"

export const beyondOneRequest = (body: Request["body"]): Rejection | undefined =>
  body === undefined ? undefined
    : unstorableIn(body, body_depth_max) !== undefined ? invalidField("body", `The body must not hold a NUL or a broken character, nor nest deeper than ${body_depth_max} levels.`)
    : isLongerThan(body, json_body_max) ? new Rejection({ kind: "too_large", message: `The body must not be longer than ${json_body_max} bytes.` })
    : undefined
