/** Statements that this process sends to Postgres. */
import pg from "pg"
import { vi } from "vitest"

export interface Sent {
  readonly on: unknown
  readonly turn: number
  readonly text: string
}
/** Texts of the statements that a call of `query` sends. */
export const textsOf = (query: unknown): ReadonlyArray<string> => {
  if (typeof query === "string") return [query]
  const { text, texts } = query as { readonly text?: string; readonly texts?: ReadonlyArray<string> }
  return texts ?? [text ?? ""]
}

/** Statements sent to Postgres during the work; those of one turn go in one round trip. */
export const sentBy = async (work: () => Promise<unknown>): Promise<ReadonlyArray<Sent>> => {
  const sent: Array<Sent> = []
  let turn = 0
  const plain = pg.Client.prototype.query as (...given: ReadonlyArray<unknown>) => unknown
  const noting = function (this: unknown, ...given: ReadonlyArray<unknown>) {
    const [one] = given
    for (const text of textsOf(one)) sent.push({ on: this, turn, text })
    queueMicrotask(() => void turn++)
    return plain.apply(this, [...given])
  }
  const query = vi.spyOn(pg.Client.prototype, "query").mockImplementation(noting as never)
  try {
    await work()
    return sent
  } finally {
    query.mockRestore()
  }
}
