/** Bodies the server would refuse for their size are not recorded either: they could never be sent. */
import { body_depth_max, isLongerThan, json_body_bytes_max } from "../../../core/kernel/body-limits.ts"
import type { Request } from "../../../core/kernel/endpoint.ts"
import { findUnstorableText } from "../../../core/kernel/input.ts"
import { invalidField, Rejection } from "../../../core/kernel/rejection.ts"

export const requestLimitRejection = (body: Request["body"]): Rejection | undefined => {
  if (body === undefined) return undefined
  const wrong = findUnstorableText(body, body_depth_max)
  if (wrong !== undefined)
    return wrong.at.length === 0
      ? invalidField("body", `The body ${wrong.says}`)
      : invalidField(wrong.at.join("."), `The ${wrong.at.join(".")} field ${wrong.says}`)
  return isLongerThan(body, json_body_bytes_max)
    ? new Rejection({ kind: "too_large", message: `The body must not be longer than ${json_body_bytes_max} bytes.` })
    : undefined
}
