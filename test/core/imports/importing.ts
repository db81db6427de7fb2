/** Sends rows to an import, and reads the verdicts on them. */
import { Effect } from "effect"
import { lastPosition } from "../../../core/kernel/events/journal.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import type { Viewer } from "../../../core/kernel/fields/rejection.ts"
import type { App, Reply } from "../../app.ts"

export interface Verdict {
  readonly row: number
  readonly status: string
  readonly id: number | null
  readonly key: string | null
  readonly errors?: { readonly [field: string]: ReadonlyArray<string> }
  readonly warnings?: ReadonlyArray<string>
}
export interface Answered extends Reply {
  readonly body: {
    readonly results: ReadonlyArray<Verdict>
    readonly meta: {
      readonly created: number
      readonly updated: number
      readonly unchanged: number
      readonly rejected: number
      readonly dry_run: boolean
    }
  }
}
export interface Importing {
  /** Sends a body as it is. */
  readonly sendBody: (body: unknown, viewer?: Viewer) => Promise<Reply>
  readonly send: (rows: unknown, more?: object) => Promise<Answered>
  readonly verdicts: (rows: unknown, more?: object) => Promise<ReadonlyArray<Verdict>>
  /** The verdict on one row that is sent alone. */
  readonly one: (row: object, more?: object) => Promise<Verdict>
  /** The last position of the journal: where it stays, nothing was recorded. */
  readonly head: () => Promise<number>
}

/** Of an app that is open by the time something is sent. */
export const importing = (app: () => App, what: "members" | "products" | "rate_definitions"): Importing => {
  const sendBody: Importing["sendBody"] = (body, viewer) => app().call("POST", `/api/v1/${what}/import`, body, viewer)
  const send: Importing["send"] = (rows, more = {}) => sendBody({ rows, ...more })
  const verdicts: Importing["verdicts"] = async (rows, more) => (await send(rows, more)).body.results
  return {
    sendBody,
    send,
    verdicts,
    one: async (row, more) => {
      const [first] = await verdicts([row], more)
      if (first === undefined) throw new Error("no verdict")
      return first
    },
    head: () => app().run(Effect.flatMap(Store, lastPosition))
  }
}
