/** Rows of server tables with a secret, which is shown only in the answer that creates it. */
import { Effect } from "effect"
import type { Input, StoreRead } from "../../core/kernel/endpoints/endpoint.ts"
import { type JsonObject, text } from "../../core/kernel/fields/field.ts"
import { renderById, type Resource, viewContext } from "../../core/kernel/endpoints/resource.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { insert, type RowOf, type Table } from "../../core/kernel/tables/table.ts"

/** The resource as in that one answer. `title`: its name in the API description. */
export const withSecret = <T extends Table, N extends string>(
  resource: Resource<T, N>,
  title: string,
  describe: string
): Resource<T, N> => ({ ...resource, title, shows: { ...resource.shows, secret: text({ describe }) } })

/** The row as it is shown, with its secret, which is not read from anywhere. */
export const shownWithSecret = <T extends Table, N extends string>(
  resource: Resource<T, N>,
  id: number,
  secret: string,
  input: Input
): StoreRead<{ readonly [K in N]: JsonObject }> =>
  Effect.map(renderById(resource, id, [], viewContext(input)), (shown) => ({
    ...shown,
    [resource.singular]: { ...shown[resource.singular], secret }
  }))

type Stamps = "created_at" | "updated_at" | "deleted_at"
/** Inserts the row, in the transaction of the command that makes it, and shows it with its secret. */
export const madeWithSecret = <T extends Table, N extends string>(
  resource: Resource<T, N>,
  row: Omit<RowOf<T>, Stamps> & { readonly id: number },
  secret: string,
  input: Input
): StoreRead<{ readonly [K in N]: JsonObject }> =>
  Effect.gen(function* () {
    const { now } = input
    const stamped = { ...row, created_at: now, updated_at: now, deleted_at: null }
    yield* (yield* Store).apply([insert<Table>(resource.table, stamped)])
    return yield* shownWithSecret(resource, row.id, secret, input)
  })
