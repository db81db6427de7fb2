/** A server that may send webhooks to this machine, with requests that webhook tests share. */
import { nothing_outside } from "../../../../server/ports/outside.ts"
import type { Engine } from "../../../app.ts"
import { houseOn } from "../../house.ts"
import { serve, type ServeOptions } from "../../serving.ts"

export { poll } from "../../house.ts"
export const outside = { ...nothing_outside, webhooks_private: true, webhooks_waits_seconds: [1, 1] }

export const house = async (engine: Engine, options: ServeOptions = {}) => {
  const one = houseOn(await serve(engine, { outside, ...options }))
  const { create, show } = one
  return {
    ...one,
    subscribed: (
      events: ReadonlyArray<string>,
      url: string
    ): Promise<{ readonly id: number; readonly secret: string }> => create("/webhooks", { url, events }),
    /** Deletes a webhook with all its pending deliveries. */
    unsubscribed: (id: number) => one.did(204, "DELETE", `/webhooks/${id}`),
    member: (name: string): Promise<{ readonly id: number; readonly created_at: string }> =>
      create("/members", { name, membership_type: "organisation" }),
    webhook: (id: number) => show(`/webhooks/${id}`),
    logs: (id: number): Promise<ReadonlyArray<any>> => show(`/webhooks/${id}/logs?per_page=100`)
  }
}
export type House = Awaited<ReturnType<typeof house>>
