/** What the server would not take as a request's body is not recorded either: it could never be sent. */
import { body_depth_max, isLongerThan, json_body_max } from "../../core/kernel/body.ts"
import type { Request } from "../../core/kernel/endpoint.ts"
import { unstorableIn } from "../../core/kernel/input.ts"
import { invalidField, Rejection } from "../../core/kernel/rejection.ts"

export const beyondOneRequest = (body: Request["body"]): Rejection | undefined => {
  if (body === undefined) return undefined
  const wrong = unstorableIn(body, body_depth_max)
  if (wrong !== undefined) return wrong.at.length === 0 ? invalidField("body", `The body ${wrong.says}`) : invalidField(wrong.at.join("."), `The ${wrong.at.join(".")} field ${wrong.says}`)
  return isLongerThan(body, json_body_max) ? new Rejection({ kind: "too_large", message: `The body must not be longer than ${json_body_max} bytes.` }) : undefined
}
