/** Cycles and depth of kits, in steps of composition (rules/availability 7.3). */
/** One step down: `product_id` is made of `component_product_id`, among others. */
export interface Composed {
  readonly product_id: number
  readonly component_product_id: number
}

const below = (edges: ReadonlyArray<Composed>): ((product: number) => ReadonlyArray<number>) => {
  const of = Map.groupBy(edges, (edge) => edge.product_id)
  return (product) => (of.get(product) ?? []).map((edge) => edge.component_product_id)
}
const above = (edges: ReadonlyArray<Composed>): ((product: number) => ReadonlyArray<number>) => {
  const of = Map.groupBy(edges, (edge) => edge.component_product_id)
  return (product) => (of.get(product) ?? []).map((edge) => edge.product_id)
}

/** Whether `from` is made of `to`, at any depth. */
export const contains = (edges: ReadonlyArray<Composed>, from: number, to: number): boolean => {
  const next = below(edges)
  const seen = new Set<number>()
  const open = [from]
  for (let product = open.pop(); product !== undefined; product = open.pop()) {
    if (product === to) return true
    if (seen.has(product)) continue
    seen.add(product)
    open.push(...next(product))
  }
  return false
}

/** The longest path from `start`, in steps; the graph has no cycle. */
const longest = (next: (product: number) => ReadonlyArray<number>, start: number): number => {
  const known = new Map<number, number>()
  const from = (product: number): number => {
    const before = known.get(product)
    if (before !== undefined) return before
    known.set(product, 0)
    const steps = next(product).reduce((most, one) => Math.max(most, 1 + from(one)), 0)
    known.set(product, steps)
    return steps
  }
  return from(start)
}

/** Steps of the longest chain through a new step from `parent` to `component`. */
export const depthThrough = (edges: ReadonlyArray<Composed>, parent: number, component: number): number =>
  longest(above(edges), parent) + 1 + longest(below(edges), component)
