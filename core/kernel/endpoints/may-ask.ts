/** Whether a user may call an endpoint. Responses that contain rows of a list require the list's permissions. */
import type { Catalogue } from "./endpoint-types.ts"
import { hasAbility, hasOnePermission, type Viewer } from "../fields/rejection.ts"

type Has = (viewer: Viewer, one: string) => boolean
const holds = (viewer: Viewer, wanted: string | ReadonlyArray<string> | null, has: Has): boolean =>
  wanted === null || [wanted].flat().some((one) => has(viewer, one))

/** Checks permissions and the token's abilities; false for unknown endpoints. */
export const mayAsk = ({ endpoint }: Pick<Catalogue, "endpoint">, name: string, viewer: Viewer): boolean => {
  const asked = endpoint(name)
  return (
    asked !== undefined && holds(viewer, asked.ability, hasAbility) && holds(viewer, asked.permission, hasOnePermission)
  )
}
