/** The kinds of jobs that slices declare. */
import type { ServerSlice } from "../server-slice.ts"
import type { AnyJobKind } from "./job-kind.ts"

/** Every kind these slices have jobs of. */
export const jobKindsOf = (slices: ReadonlyArray<ServerSlice>): ReadonlyArray<AnyJobKind> => [
  ...new Set(slices.flatMap(({ jobs, timed }) => [...(jobs ?? []), ...(timed ?? []).map(({ kind }) => kind)]))
]
