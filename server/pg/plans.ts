/** Names under which each connection keeps a text's plan, so that Postgres parses and plans a hot query once. */
export interface PlanNames {
  /** The text's name from its second use on; undefined while it is new, or when enough texts have one. */
  readonly nameOf: (text: string) => string | undefined
  /** Gives the text another name: the plan kept under the old one no longer fits the schema. */
  readonly renew: (text: string) => void
  /** After DDL: every text gets another name. */
  readonly renewAll: () => void
}

const NEWCOMERS_KEPT = 1_000

/**
 * At most `limit` texts have a name, as neither `pg` nor the server ever drops a plan. Texts seen once, such as bulk
 * inserts and filters in every combination, get none.
 */
export const makePlanNames = (limit: number): PlanNames => {
  const names = new Map<string, string>()
  const newcomers = new Set<string>()
  // Never used twice: a connection may still keep a plan under an old name.
  let count = 0
  const name = (text: string): string => {
    const fresh = `flightcase_${++count}`
    names.set(text, fresh)
    return fresh
  }
  return {
    nameOf: (text) => {
      const known = names.get(text)
      if (known !== undefined || names.size >= limit) return known
      if (newcomers.delete(text)) return name(text)
      if (newcomers.size >= NEWCOMERS_KEPT) newcomers.delete(newcomers.values().next().value as string)
      newcomers.add(text)
      return undefined
    },
    renew: (text) => {
      if (names.has(text)) name(text)
    },
    renewAll: () => {
      names.clear()
      newcomers.clear()
    }
  }
}
