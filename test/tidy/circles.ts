/** Imports between files, and circles among them. */
import { posix } from "node:path"
import type { Sources } from "../source/place.ts"
import { importsOf } from "./measures.ts"

/** Each node → the nodes it imports. */
type Graph = ReadonlyMap<string, ReadonlySet<string>>

/** Imports between files of the program. */
export const fileGraph = (sources: Sources): Graph =>
  new Map(
    [...sources].map(([file, { tree }]) => [
      file,
      new Set(
        importsOf(tree)
          .filter((specifier) => specifier.startsWith("."))
          .map((specifier) => posix.join(posix.dirname(file), specifier))
          .filter((imported) => sources.has(imported))
      )
    ])
  )

/** Graph of the files' groups; files without one are left out. */
const groupedGraph = (graph: Graph, groupOf: (file: string) => string | undefined): Graph => {
  const groups = new Map<string, Set<string>>()
  for (const [file, imported] of graph) {
    const group = groupOf(file)
    if (group === undefined) continue
    const others = groups.get(group) ?? new Set()
    groups.set(group, others)
    for (const one of imported) {
      const other = groupOf(one)
      if (other !== undefined && other !== group) others.add(other)
    }
  }
  return groups
}

/**
 * Groups of nodes that import each other, directly or not: Tarjan's strongly connected components of more than one
 * node, sorted.
 */
export const circlesOf = (graph: Graph): ReadonlyArray<ReadonlyArray<string>> => {
  const found: Array<ReadonlyArray<string>> = []
  const order = new Map<string, number>(),
    lowest = new Map<string, number>()
  const open: Array<string> = []
  const visit = (one: string): void => {
    order.set(one, order.size)
    lowest.set(one, order.get(one)!)
    open.push(one)
    for (const other of graph.get(one) ?? []) {
      if (!order.has(other)) visit(other)
      if (open.includes(other)) lowest.set(one, Math.min(lowest.get(one)!, lowest.get(other)!))
    }
    if (lowest.get(one) !== order.get(one)) return
    const circle = open.splice(open.indexOf(one))
    if (circle.length > 1) found.push(circle.toSorted())
  }
  for (const one of graph.keys()) if (!order.has(one)) visit(one)
  return found.toSorted((a, b) => b.length - a.length || a[0]!.localeCompare(b[0]!))
}

/**
 * Entries of each folder (files and folders) that import each other, directly or not: `core/billing: state and
 * invoices`. A tree without circles can be read from the bottom up at every level.
 */
export const folderCircles = (graph: Graph): ReadonlyArray<string> => {
  const folders = new Set<string>([""])
  for (const file of graph.keys())
    for (let at = file.indexOf("/"); at > 0; at = file.indexOf("/", at + 1)) folders.add(file.slice(0, at + 1))
  return [...folders]
    .toSorted()
    .flatMap((folder) =>
      circlesOf(
        groupedGraph(graph, (file) => (file.startsWith(folder) ? file.slice(folder.length).split("/")[0] : undefined))
      ).map((circle) => `${folder}: ${circle.join(" and ")}`)
    )
}
