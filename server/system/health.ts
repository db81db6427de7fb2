/** Is the server well? Asked without a token by whatever watches it. */
import { Effect } from "effect"
import type { Slice } from "../../core/kernel/catalogue.ts"
import { get } from "../../core/kernel/endpoint.ts"
import { headOf } from "../../core/kernel/journal.ts"
import { ok } from "../../core/kernel/resource.ts"
import { Store } from "../../core/kernel/store/store.ts"

const health = get("/api/v1/system/health", {
  name: "system.health", summary: "Is the server well?", ability: null, permission: null, weight: 0, public: true, server_only: true,
  run: ({ now }) => Effect.gen(function*() {
    const store = yield* Store
    // One question to the database: a server that cannot ask it is not well, and answers 503.
    const journal_position = yield* headOf(store)
    return ok({ health: { status: "ok", timestamp: now, database: store.dialect === "pg" ? "postgres" : "sqlite", journal_position } })
  })
})

export const healthSlice: Slice = { name: "system", endpoints: [health] }
