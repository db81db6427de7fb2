/** The network between a device and the server: it loses, repeats and delays requests. */
import { Effect } from "effect"
import type { Answer, Request } from "../../core/kernel/endpoints/endpoint.ts"
import type { Json } from "../../core/kernel/fields/field.ts"
import { Store } from "../../core/kernel/store/store.ts"
import type { Viewer } from "../../core/kernel/fields/rejection.ts"
import { reader_grants } from "../../sync/server/tables.ts"
import { type Remote, Unreachable } from "../../sync/device/exchange/remote.ts"
import type { SnapshotPlan } from "../../sync/protocol/snapshot.ts"
import { type LeaseRange, type Verdict, toWireCommand } from "../../sync/protocol/wire.ts"
import { decodeWanted } from "../../sync/protocol/answers.ts"
import { fileOf } from "./files.ts"
import type { Random } from "./random.ts"
import type { Faults } from "./faults.ts"
import type { SimulatedServer, Trace } from "./server.ts"
import { pullFrom, refused, rowsFrom } from "./pull.ts"
import { nextRequest } from "./work.ts"

export interface Network {
  readonly chance: Random
  readonly faults: Faults
  readonly house: SimulatedServer
  readonly viewer: () => Viewer
  readonly online: () => boolean
  readonly trace: Trace
}
/** Maximum number of delayed requests. */
const held_back_max = 5

export const flakyNetwork = ({
  chance: random,
  faults,
  house: server,
  viewer,
  online,
  trace
}: Network): Pick<Remote, "push" | "pull" | "lease" | "plan" | "rows" | "sendFile" | "wantedFiles"> => {
  const lost = (what: string): Unreachable => {
    trace(`  ${what} was lost`)
    return new Unreachable("sim", new Error(`${what} was lost`))
  }
  const over = async <A>(request: () => Promise<A>): Promise<A> => {
    if (!online() || random.happens(faults.lost_request)) throw lost("a request")
    if (random.happens(faults.given_up)) {
      void server.unheard(request())
      throw lost("a reply that took too long")
    }
    if (random.happens(faults.repeated)) {
      const at_once = random.happens(0.5)
      trace(`  a request arrives twice${at_once ? " at once" : ""}`)
      const first = server.unheard(request())
      if (!at_once) await first
    }
    const reply = await request()
    if (!online() || random.happens(faults.lost_reply)) throw lost("a reply")
    return reply
  }
  let held_back: Array<{ readonly request: Request; readonly restored: number }> = []
  const send = (
    method: string,
    path: string,
    body: Json | undefined,
    query: Request["query"] = [],
    files: Pick<Request, "files"> = {}
  ): Promise<Answer> =>
    over(async () => {
      const request: Request = {
        method,
        path: `/api/v1/sync/${path}`,
        query,
        body: body === undefined ? undefined : (JSON.parse(JSON.stringify(body)) as Json),
        ...files
      }
      const answer = await server.ask(request, viewer())
      if (method === "POST" && held_back.length < held_back_max)
        held_back.push({ request, restored: server.restored() })
      // Requests delayed before a restore were lost with the old server's connections.
      held_back = held_back.filter((one) => one.restored === server.restored())
      if (held_back.length > 0 && random.happens(faults.late)) {
        const [late] = held_back.splice(random.below(held_back.length), 1)
        trace(`  an old request to ${late!.request.path} arrives once more`)
        await server.ask(late!.request, viewer())
      }
      if (answer.status >= 400) throw refused(answer)
      return JSON.parse(JSON.stringify(answer)) as Answer
    })
  const beginAnew = (): Promise<void> => {
    trace("  the server begins a new history")
    return server.run(
      Effect.flatMap(Store, (store) =>
        store.transaction(Effect.asVoid(store.run(`update ${reader_grants.name} set version = version + 1`)))
      )
    )
  }
  const fetching = {
    run: <A>(effect: Parameters<typeof server.run<A>>[0]): Promise<A> => over(() => server.run(effect)),
    viewer
  }
  const rows = rowsFrom({
    ...fetching,
    rows_per_page: () => 100 + random.below(400),
    events_per_page: () => 1 + random.below(20)
  })
  const pull = pullFrom({ ...fetching, events_per_chunk: () => random.pick([1, 5, 40, 2_000]) + random.below(20) })
  return {
    push: async (replica_id, commands) => {
      const sent = commands.map(toWireCommand)
      trace(`  sends ${sent.map(({ n, name }) => `${n} ${name}`).join(", ") || "nothing"}`)
      const { verdicts } = (await send("POST", "commands", { replica_id, commands: sent } as unknown as Json))
        .body as unknown as { verdicts: ReadonlyArray<Verdict> }
      trace(`  hears ${verdicts.map(({ status }) => status).join(", ")}`)
      return verdicts
    },
    wantedFiles: async (replica_id, sha256) => {
      const { body } = await send("POST", "files/wanted", { replica_id, sha256: [...sha256] })
      return decodeWanted(body).wanted
    },
    // Only metadata of files exists here, without content.
    sendFile: async (replica_id, sha256) => {
      trace(`  sends the file ${sha256.slice(0, 8)}`)
      await send("POST", "files", { replica_id, sha256 }, [], { files: { file: fileOf(sha256) } })
    },
    lease: async (replica_id, entity, request_no) =>
      (
        (await send("POST", "leases", { replica_id, entity, request_no })).body as unknown as {
          lease: ReadonlyArray<LeaseRange>
        }
      ).lease,
    plan: async (replica_id, pending_from) =>
      (
        (
          await send("GET", "snapshot", undefined, [
            ["replica_id", String(replica_id)],
            ["pending_from", String(pending_from)]
          ])
        ).body as unknown as { snapshot: SnapshotPlan }
      ).snapshot,
    rows: async (replica_id, place) => {
      if (random.happens(faults.anew)) await beginAnew()
      while (random.happens(faults.busy)) await server.ask(await nextRequest(random, server.look))
      return rows(replica_id, place)
    },
    pull: async (replica_id, from, take) => {
      if (random.happens(faults.anew)) await beginAnew()
      return pull(replica_id, from, take)
    }
  }
}
