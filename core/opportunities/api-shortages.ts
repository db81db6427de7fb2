/** What one opportunity is short of, and that somebody saw it and goes ahead (opportunities 9.5, availability 9). */
import { Effect } from "effect"
import { command, type Endpoint, get } from "../kernel/endpoint.ts"
import { prose } from "../kernel/field.ts"
import { created, ok, resource, shownById, unpagedMeta, viewContext } from "../kernel/resource.ts"
import { shortagesOf } from "./claims.ts"
import { acknowledgeShortages } from "./decide/acknowledge.ts"
import { knownOf } from "./facts.ts"
import { one, path } from "./paths.ts"
import { acknowledgements } from "./shortages.ts"

const acknowledgementResource = resource({ singular: "acknowledgement", plural: "acknowledgements", table: acknowledgements })

/** Works in every state: a draft tells what it would be short of. Everything at once; meta still counts (conventions 2). */
const list = get(`${path}/{id}/shortages`, {
  name: "opportunities.shortages", summary: "The lines that are short, and by how much", ability: "opportunities:read", permission: "shortages.view", params: one,
  run: (input) => Effect.gen(function*() {
    const known = yield* knownOf(input.rows.id, input, { live_only: true, stock: true })
    const shortages = shortagesOf(known, known.deal, known.claims, input.settings, input.now)
    return ok({
      shortages: shortages.map((shortage) => ({ ...shortage })),
      meta: unpagedMeta(shortages.length)
    })
  })
})

const acknowledge = command("POST", `${path}/{id}/shortages/acknowledge`, {
  name: "opportunities.acknowledge_shortages", summary: "Record that the shortages were seen", ability: "opportunities:write",
  permission: "shortages.resolve", params: one, answers: 201, mints: [acknowledgements],
  fields: { notes: prose({ nullable: true, max: 2000 }) },
  facts: (input) => knownOf(input.rows.id, input, { live_only: true, stock: true }),
  decide: (known, input, context) => acknowledgeShortages(known, input.values.notes ?? null, context),
  respond: (result, input) => Effect.map(shownById(acknowledgementResource, Number(result["id"]), input.query, viewContext(input)), created)
})

export const shortageEndpoints: ReadonlyArray<Endpoint> = [list, acknowledge]
